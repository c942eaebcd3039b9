/** Sends responses that are created while the client reads them. */

import type { Request, Response } from 'express'
import { networkOf } from '../connection/addresses.ts'
import { readingSignal } from '../connection/slow-client.ts'
import { stateOf } from '../request-state.ts'

export interface Writing {
  readonly signal: AbortSignal
  /** Called with the fault that ends the response, before anything is ended because of it. */
  readonly noteFault: (fault: unknown) => void
}

interface Streamed<Item> {
  readonly headers: Readonly<Record<string, string>>
  /** Calls `write` with the items when the turn of the response comes. */
  readonly send: (
    write: (items: AsyncGenerator<Item>) => Promise<void>,
    by: { readonly signal: AbortSignal; readonly from: string },
  ) => Promise<void>
  /** Writes the items to the response. */
  readonly write: (items: AsyncIterable<Item>, writing: Writing) => Promise<void>
}

/**
 * Sends a response of unknown length. A fault after the first byte ends the connection in the middle of it.
 *
 * @throws the errors of `send`, before the first byte
 */
export async function sendStreamed<Item>(
  req: Request,
  res: Response,
  { headers, send, write }: Streamed<Item>,
): Promise<void> {
  // It is not compressed, because that would take a core for minutes.
  stateOf(req).isPacked = true
  if (req.method === 'HEAD') {
    for (const [header, value] of Object.entries(headers)) res.setHeader(header, value)
    res.status(200).end()
    return
  }
  const gone = readingSignal(req, res)
  // A fault while the client is still there. It ends the response, which then looks as if the client had left.
  let broken: { readonly by: unknown } | undefined
  const noteFault = (by: unknown) => {
    if (!gone.aborted) broken ??= { by }
  }
  const begin = async (items: AsyncGenerator<Item>) => {
    try {
      const first = await items.next()
      for (const [header, value] of Object.entries(headers)) res.setHeader(header, value)
      res.status(200)
      await write(continued(first, items), { signal: gone, noteFault })
    } finally {
      await items.return(undefined)
    }
  }
  try {
    await send(begin, { signal: gone, from: networkOf(req) })
  } catch (error) {
    if (broken !== undefined) throw broken.by
    throw gone.aborted ? gone.reason : error
  }
}

/** Yields the items, and notes the fault that ends them. */
export async function* noting<Item>(items: AsyncIterable<Item>, noteFault: Writing['noteFault']): AsyncGenerator<Item> {
  try {
    yield* items
  } catch (error) {
    noteFault(error)
    throw error
  }
}

/** The header that makes a browser save the response. The name is a slug. Source: RFC 6266. */
export function attachment(name: string, ending: string): string {
  return `attachment; filename="${name.replace(/[^\w-]/g, '_')}.${ending}"; filename*=UTF-8''${encodeURIComponent(name)}.${ending}`
}

async function* continued<Item>(first: IteratorResult<Item, void>, items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  if (first.done) return
  yield first.value
  yield* items
}
