"""Supabase's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
db, postgres: database sql query
schema change, migrate: migration
edge function, serverless function: function
bucket, storage, file storage: bucket storage
slow queries, slow query, missing index, missing indexes: performance advisors
rls, row level security, vulnerability, vulnerabilities, security warnings, security issues: security advisors
up and running, is it up, healthy, outage: health
environment variable, environment variables, env vars, env var: secrets
typescript, typed client: types typescript
stored procedure, database function, postgres function: rpc function
preview environment: branch
publish, release, ship, upload code: deploy function
source code, source files: function code
documentation, manual, guide, how to: search docs
promote: merge branch

SQL, クエリ: sql query
マイグレーション: migration
セキュリティ: security advisors
パフォーマンス, 性能, 遅い: performance advisors
APIキー, API キー: api keys
シークレット, 環境変数: secrets
関数, ファンクション: function
デプロイ: deploy function
ドキュメント, 公式資料, マニュアル: search docs
バケット, ストレージ: bucket storage
ヘルスチェック, 稼働状況, 稼働状態, 正常, 死活: health
型定義, 型を: types typescript
スーパーベース: supabase
"""
