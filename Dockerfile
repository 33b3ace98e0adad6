# A service for a model that is mounted at /model:
#   docker build -t treewass . && docker run -p 127.0.0.1:8000:8000 -v "$PWD/model:/model" treewass
# The mount may be read only (-v …:ro); then nothing can be written. The token comes as TREEWASS_TOKEN or as a mounted file.
FROM python:3.12-slim
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt ".[serve]" && rm -rf /source && useradd --create-home treewass
USER treewass
WORKDIR /home/treewass
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen(r.Request('http://127.0.0.1:8000/api/health', headers={'Host': 'localhost'}))"]
ENTRYPOINT ["treewass", "serve", "/model", "--host", "0.0.0.0"]
