/** The page of error codes, to which the `link` of an error leads. Its text is spec/errors.md. */

import type { RequestHandler } from 'express'
import errors from '../../../spec/errors.json' with { type: 'json' }
import { errorDocsPath } from '../connection/base-url.ts'
import { docsPolicy } from './docs.ts'

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Error codes · Grove</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="favicon-32x32.png">
<style>
  body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.55 system-ui, sans-serif }
  h2 { margin-top: 2.5rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent) }
  h3 { font-family: ui-monospace, monospace; font-size: 1rem; margin-bottom: 0 }
  h3 + p { margin-top: 0.25rem }
  :target { background: color-mix(in srgb, gold 35%, transparent) }
  code, pre { font-family: ui-monospace, monospace; font-size: 0.9em }
  pre { overflow-x: auto; padding: 0.75rem; background: color-mix(in srgb, currentColor 8%, transparent) }
</style>
<p><a href="../docs">API reference</a></p>
${errors.html}`

/** Serves `/docs/errors`. */
export function errorDocs(): RequestHandler {
  return (req, res, next) => {
    if (req.path !== errorDocsPath || !['GET', 'HEAD'].includes(req.method)) return next()
    res.set({ 'Content-Security-Policy': docsPolicy, 'Cache-Control': 'public, max-age=3600' }).type('html').send(page)
  }
}
