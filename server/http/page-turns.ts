/** Limits the pages that are read and rendered at once. Each user and IP address has a share. */

import type { Request, Response } from 'express'
import { type Actor, anonymous, callerOf } from '../domain/actor.ts'
import { createCallerSemaphore } from '../domain/caller-semaphore.ts'
import { networkOf } from './connection/addresses.ts'
import { disconnectSignal } from './connection/disconnect.ts'
import { noteWait } from './log/request-notes.ts'

const refusal = 'Too many pages are waiting to be shown; try again in a moment'

/** Limits the pages whose data is read. Each may hold a text of 1 MiB. */
export const pageReads = createCallerSemaphore({
  all: { running: 32, waiting: 512 },
  person: { running: 8, waiting: 64 },
  address: { running: 4, waiting: 128 },
  anonymous: { running: 8, waiting: 256 },
  waitTimeoutMs: 20_000,
  refusal,
})

/** Limits the texts that are rendered. This thread renders all of them, so each more makes the others slower. */
export const renderings = createCallerSemaphore({
  all: { running: 4, waiting: 512 },
  person: { running: 1, waiting: 64 },
  address: { running: 1, waiting: 128 },
  anonymous: { running: 1, waiting: 256 },
  waitTimeoutMs: 20_000,
  refusal,
})

/** The reader of a page. The signal is aborted when the reader leaves. */
export type PageTurn = ReturnType<typeof pageTurn>

export function pageTurn(req: Request, res: Response, actor: Actor = anonymous) {
  const caller = callerOf({ actor, request: { from: networkOf(req) } })
  return { caller, signal: disconnectSignal(req, res), waited: (ms: number) => noteWait(req, ms) }
}
