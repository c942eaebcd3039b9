/**
 * Serves the API reference at /docs. Swagger UI comes from the installed package, so that the page works offline and under a
 * strict policy.
 */

import express, { type RequestHandler } from 'express'
import folderOfSwaggerUi from 'swagger-ui-dist/absolute-path.js'
import { publicPath } from '../connection/base-url.ts'

/** No inline script. Styles are allowed, because Swagger UI sets them on elements. */
export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

export const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Grove API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<div id="spec"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
`

/**
 * The script of the page. Operations begin folded and schemas are hidden: 92 and 156 of them are too many to scroll. Swagger UI
 * ignores `x-codeSamples`, so a plugin shows them above the responses of an operation. Its dark mode follows the theme of
 * pages.
 */
const start = `const root = document.documentElement
const system = matchMedia('(prefers-color-scheme: dark)')
const applyTheme = () => {
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : system.matches
  root.classList.toggle('dark-mode', isDark)
}
new MutationObserver(applyTheme).observe(root, { attributeFilter: ['data-theme'] })
system.addEventListener('change', applyTheme)
applyTheme()

const languages = { Shell: 'bash', JavaScript: 'javascript' }

const sampleIn = (element, Code) => ({ lang, label, source }) =>
  element(
    'div',
    { key: label, className: 'opblock-description-wrapper' },
    element('h4', null, label),
    element(Code, { canCopy: true, language: languages[lang] }, source),
  )

const samplesOf = (element, { getComponent, specSelectors }, { path, method }) =>
  specSelectors
    .specJson()
    .getIn(['paths', path, method, 'x-codeSamples'])
    ?.toJS()
    .map(sampleIn(element, getComponent('HighlightCode', true)))

const withSamples = (element) => (Responses, system) => (props) =>
  element('div', null, samplesOf(element, system, props), element(Responses, props))

const codeSamples = ({ React }) => ({ wrapComponents: { responses: withSamples(React.createElement) } })

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#spec',
  deepLinking: true,
  validatorUrl: null,
  docExpansion: 'none',
  defaultModelsExpandDepth: -1,
  filter: true,
  plugins: [codeSamples],
})
`

/** Serves the files of the page: the script, and three files of the package. */
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
