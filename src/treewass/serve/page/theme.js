// Before the page is drawn: the theme chosen last time, or else the system's.
"use strict";
const chosen = localStorage.getItem("treewass-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
