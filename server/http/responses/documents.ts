/** The documents for client authors: error codes, limits, Git and the guide. Their texts are the Markdown files of `spec/`. */

import type { RequestHandler } from 'express'
import documents from '../../../spec/documents.json' with { type: 'json' }
import { docsPolicy } from './docs.ts'

const head = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="favicon-32x32.png">
<style>
  body { max-width: 52rem; margin: 0 auto 4rem; padding: 0 1rem; font: 1rem/1.55 Inter, system-ui, sans-serif;
    color: light-dark(#22261f, #e4e6df); background: light-dark(#fdfcf8, #15181a) }
  a { color: light-dark(#2a6b4d, #8fd0ae) }
  header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.25rem 1.5rem; margin-bottom: 2rem; padding: 1rem 0;
    border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent) }
  header > a { font: 600 1.2rem Georgia, serif; color: inherit; text-decoration: none }
  nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem }
  h2 { margin-top: 2.5rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent) }
  h3 { margin-bottom: 0 }
  h3 + p { margin-top: 0.25rem }
  :target { background: color-mix(in srgb, gold 35%, transparent) }
  code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere }
  pre { overflow-x: auto; padding: 0.75rem; background: color-mix(in srgb, currentColor 8%, transparent) }
  table { border-collapse: collapse }
  th, td { padding: 0.3rem 0.75rem 0.3rem 0; text-align: left; vertical-align: top }
  td { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent) }
</style>`

const links = Object.entries(documents).map(([name, { title }]) => `<a href="${name}">${title}</a>`)
const navigation =
  '<header><a href="..">Grove</a>' +
  `<nav aria-label="Documents"><a href="../docs">API reference</a> ${links.join(' ')}</nav></header>`

/** The pages by their paths. */
const pages: ReadonlyMap<string, string> = new Map(
  Object.entries(documents).map(([name, { title, html }]) => [
    `/docs/${name}`,
    `${head}\n<title>${title} · Grove</title>\n${navigation}\n<main>\n${html}</main>\n`,
  ]),
)

/** Serves the documents below `/docs/`. */
export function documentPages(): RequestHandler {
  return (req, res, next) => {
    const page = req.method === 'GET' || req.method === 'HEAD' ? pages.get(req.path) : undefined
    if (page === undefined) return next()
    res.set({ 'Content-Security-Policy': docsPolicy, 'Cache-Control': 'public, max-age=3600' }).type('html').send(page)
  }
}
