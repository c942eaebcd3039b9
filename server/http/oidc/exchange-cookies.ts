/** Cookies that keep the secrets of exchanges with providers. A browser may have several, one for each tab. */

import type { Request, Response } from 'express'
import { z } from 'zod'

/** The values that the browser keeps until it comes back. */
export interface Kept {
  readonly provider: string
  readonly purpose: 'sign-in' | 'link' | 'confirm'
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** The path to which the browser goes afterwards. */
  readonly next: string
  readonly invitation?: string | undefined
  /** The session that began it, unless it is a sign-in. */
  readonly session?: string | undefined
  /** Milliseconds since 1970. */
  readonly at: number
}

const form = z.object({
  provider: z.string(),
  purpose: z.enum(['sign-in', 'link', 'confirm']),
  state: z.string().min(20),
  nonce: z.string().min(20),
  verifier: z.string().min(20),
  next: z.string(),
  invitation: z.string().optional(),
  session: z.string().optional(),
  at: z.number(),
})

/** Milliseconds that a user has at the provider. */
const lifetimeMs = 10 * 60_000
const mostCookies = 4
/** Characters of the state in the cookie's name. */
const nameLength = 8

/** Sets the cookie, and removes the oldest ones of more than four. */
export function keepExchange(req: Request, res: Response, kept: Kept, isSecure: boolean): void {
  const others = cookiesOf(req, isSecure)
    .map((name) => ({ name, at: readCookie(req, name)?.at ?? 0 }))
    .sort((a, b) => b.at - a.at)
  for (const { name } of others.slice(mostCookies - 1)) res.clearCookie(name, optionsFor(isSecure))
  const value = Buffer.from(JSON.stringify(kept)).toString('base64url')
  res.cookie(nameFor(kept.state, isSecure), value, { ...optionsFor(isSecure), maxAge: lifetimeMs })
}

/** Removes the cookie of this state, and returns what it kept. Undefined: there is none, or it is too old. */
export function takeExchange(
  req: Request,
  res: Response,
  state: string,
  { isSecure, now }: { readonly isSecure: boolean; readonly now: Date },
): Kept | undefined {
  const name = nameFor(state, isSecure)
  const kept = readCookie(req, name)
  res.clearCookie(name, optionsFor(isSecure))
  if (kept === undefined || kept.state !== state) return undefined
  return Math.abs(now.getTime() - kept.at) <= lifetimeMs ? kept : undefined
}

// Browsers accept `__Host-` only over HTTPS, and only from this host.
function prefixFor(isSecure: boolean): string {
  return isSecure ? '__Host-grove-oidc-' : 'grove-oidc-'
}

function nameFor(state: string, isSecure: boolean): string {
  return `${prefixFor(isSecure)}${state.slice(0, nameLength).replace(/[^\w-]/g, '')}`
}

function optionsFor(isSecure: boolean) {
  return { httpOnly: true, secure: isSecure, sameSite: 'lax', path: '/' } as const
}

function pairsOf(req: Request): (readonly [string, string])[] {
  return (req.headers.cookie ?? '').split(';').map((pair) => {
    const [name = '', ...value] = pair.trim().split('=')
    return [name, value.join('=')] as const
  })
}

function cookiesOf(req: Request, isSecure: boolean): string[] {
  return pairsOf(req)
    .map(([name]) => name)
    .filter((name) => name.startsWith(prefixFor(isSecure)))
}

function readCookie(req: Request, wanted: string): Kept | undefined {
  const value = pairsOf(req).find(([name]) => name === wanted)?.[1]
  if (value === undefined) return undefined
  try {
    return form.safeParse(JSON.parse(Buffer.from(value, 'base64url').toString('utf8'))).data
  } catch {
    return undefined
  }
}
