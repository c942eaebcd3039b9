/** The page that shows the spec. Swagger UI comes from our disk, so that it works offline and under a strict policy. */

import express, { type RequestHandler } from 'express'
import folderOfSwaggerUi from 'swagger-ui-dist/absolute-path.js'
import { publicPath } from '../connection/base-url.ts'

/** The policy forbids inline scripts. Swagger UI itself sets styles. */
export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

export const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Grove</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<div id="spec"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
`

const start = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#spec', deepLinking: true, validatorUrl: null })
`

/** Serves the files that the page loads, and nothing else of the package. */
export function docsFiles(): RequestHandler {
  const root = folderOfSwaggerUi()
  const router = express.Router()
  // The URLs in the page are relative to /docs.
  router.get('/docs/', (_req, res) => res.redirect(308, publicPath(res, '/docs')))
  router.get('/docs/start.js', (_req, res) => {
    res.type('text/javascript').set('Cache-Control', 'public, max-age=3600').send(start)
  })
  router.get(/^\/docs\/(swagger-ui\.css|swagger-ui-bundle\.js|favicon-32x32\.png)$/, (req, res) => {
    res.sendFile(req.path.slice('/docs/'.length), { root, maxAge: '1h' })
  })
  return (req, res, next) => (req.url.startsWith('/docs/') ? router(req, res, next) : next())
}
