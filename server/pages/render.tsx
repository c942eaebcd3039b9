/** Renders, compresses and sends pages, or answers 304 if the browser has the page. */

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import type { Request, Response } from 'express'
import { render } from 'preact-render-to-string'
import { reserveResponse } from '../http/connection/memory-budget.ts'
import { renderings } from '../http/page-turns.ts'
import { assetsVersion } from './assets.ts'
import type { Page, PageContext, PageResult, Text } from './page-context.ts'
import { Frame } from './parts/frame.tsx'
import { unreadNumber } from './text/unread-number.ts'

/** Allows nothing inline and nothing from other hosts. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self'; font-src 'self'; " +
  "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** The size in bytes at which compression pays off. */
const compressedFrom = 1_024
/** Half the work of the default level, for 3 % more bytes. */
const level = 4
/** The size in bytes up to which this thread compresses. The way to another thread takes longer. */
const inThreadUpTo = 131_072

export function setPageHeaders(res: Response): void {
  res.set({
    'Content-Security-Policy': policy,
    'Cross-Origin-Resource-Policy': 'same-origin',
    // Our own forms send their origin; other sites get no referrer.
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'private, no-cache',
  })
  res.vary('Cookie').vary('Authorization')
}

export async function sendResult(req: Request, res: Response, visit: PageContext, shown: PageResult): Promise<void> {
  if (shown.kind === 'redirect') res.redirect(shown.status, shown.to)
  else if (shown.kind === 'text') {
    res.set('ETag', weakTag(shown.text))
    if (!sendUnchanged(req, res)) await sendText(req, res, visit, shown)
  } else await sendPage(req, res, visit, shown)
}

async function sendPage(req: Request, res: Response, visit: PageContext, page: Page): Promise<void> {
  const { status = 200, retryAfter } = page
  if (retryAfter !== undefined) res.set('Retry-After', String(retryAfter))
  if (page.head.hasNoScript)
    res.set('Content-Security-Policy', policy.replace("script-src 'self'", "script-src 'none'"))
  if (page.policy !== undefined) res.set('Content-Security-Policy', page.policy)
  if (status === 200) {
    res.set('ETag', tagOf(visit, page))
    if (sendUnchanged(req, res)) return
  }
  const { prepare } = page
  if (prepare !== undefined) await renderings.run(visit.turn, prepare)
  const html = pageHtml(visit, page)
  await sendText(req, res.status(status), visit, { type: 'text/html; charset=utf-8', text: html })
}

/** Answers 304 and returns true if the browser has the version that the ETag names. */
function sendUnchanged(req: Request, res: Response): boolean {
  // The API does the same: fetch adds `no-cache`, which is meant for caches.
  delete req.headers['cache-control']
  if (!req.fresh) return false
  res.status(304).end()
  return true
}

export function pageHtml(visit: PageContext, { head, place, isSignedOut = false, body }: Page): string {
  const html = render(
    <Frame visit={isSignedOut ? { ...visit, person: undefined } : visit} head={head} place={place}>
      {body()}
    </Frame>,
  )
  return `<!doctype html>${html}`
}

/** Computes the ETag. The same user, number, facts and assets make the same page. */
function tagOf(visit: PageContext, { head, place, facts }: Page): string {
  const { person, here, canSignIn, maintenance, demo } = visit
  const { id, name, isAdmin } = person ?? {}
  const all = JSON.stringify([
    ...[assetsVersion(), id, name, isAdmin, unreadNumber(visit.unread), here, canSignIn, maintenance, demo],
    ...[head, place, facts],
  ])
  return weakTag(all)
}

function weakTag(text: string): string {
  return `W/"${createHash('sha256').update(text).digest('base64url')}"`
}

/** Sends a text, compressed if that pays off. @throws AppError as `reserveResponse` does, after removing its headers */
async function sendText(
  req: Request,
  res: Response,
  { person }: PageContext,
  { type, text }: Pick<Text, 'type' | 'text'>,
): Promise<void> {
  res.set('Content-Type', type)
  res.vary('Accept-Encoding')
  const bytes = Buffer.from(text)
  if (bytes.length < compressedFrom || req.acceptsEncodings('gzip', 'identity') !== 'gzip') {
    hold(req, res, bytes.length, person?.id)
    res.set('Content-Length', String(bytes.length))
    res.end(req.method === 'HEAD' ? undefined : bytes)
    return
  }
  const zipped = bytes.length < inThreadUpTo ? gzipSync(bytes, { level }) : await promisify(gzip)(bytes, { level })
  hold(req, res, zipped.length, person?.id)
  res.set({ 'Content-Encoding': 'gzip', 'Content-Length': String(zipped.length) })
  res.end(req.method === 'HEAD' ? undefined : zipped)
}

function hold(req: Request, res: Response, length: number, person: string | undefined): void {
  if (req.method === 'HEAD') return
  try {
    reserveResponse(req, res, length, person)
  } catch (error) {
    for (const name of ['ETag', 'Content-Type']) res.removeHeader(name)
    throw error
  }
}
