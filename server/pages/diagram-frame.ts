/** The page for the sandboxed frame in which Mermaid runs. See decisions/0007-diagrams-in-a-sandbox.md. */

import type { Request, Response } from 'express'
import { assetName } from './assets.ts'

/** The path of the frame. The script of a page builds the same. */
export const diagramFrame = '/assets/diagrams'

/**
 * Sends the frame. Its origin is opaque, so it has no cookies, no storage and no access to the page. It can load
 * scripts of this service, and nothing else. Mermaid needs inline styles to draw.
 *
 * @param origin the origin of the service. In some browsers `'self'` is that of the frame, and matches nothing
 */
export function sendDiagramFrame(req: Request, res: Response, origin: string): void {
  // The page has not asked for its own process, so its frame must not.
  res.removeHeader('Origin-Agent-Cluster')
  const script = assetName('diagram-frame.js')
  res.set({
    'Content-Security-Policy': [
      "default-src 'none'",
      `script-src 'self' ${origin}`,
      "style-src 'unsafe-inline'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'self'",
      'sandbox allow-scripts',
    ].join('; '),
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'private, no-cache',
    'Content-Type': 'text/html; charset=utf-8',
  })
  const html =
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Diagrams</title>' +
    `<script type="module" src="${script}"></script></head><body></body></html>`
  res.end(req.method === 'HEAD' ? undefined : html)
}
