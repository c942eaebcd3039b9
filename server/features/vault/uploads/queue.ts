/** Imports of this process: received, waiting for their turn, and running, one at a time. */

import pLimit from 'p-limit'
import type { Logger } from 'pino'
import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import { addRunning, type Rounds } from '../../../base/rounds.ts'
import type { ImportQueue } from '../../../domain/services.ts'

interface Parts {
  readonly log: Logger
  readonly rounds: Rounds
}

export function createImportQueue({ log, rounds }: Parts): ImportQueue {
  const turn = pLimit(1)
  const closing = new AbortController()
  const places = new Map<string, number>()
  const pending = new Set<Promise<void>>()
  return { reserve, add, close }

  function reserve(userId: string): () => void {
    const all = [...places.values()].reduce((sum, count) => sum + count, 0)
    const own = places.get(userId) ?? 0
    if (own >= limits.userImports)
      throw new AppError('busy', `You have ${own} imports that have not ended; wait for one of them, or cancel it`)
    if (all >= limits.imports)
      throw new AppError('busy', 'Too many imports are waiting on this service; try again in some minutes')
    places.set(userId, own + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      const left = (places.get(userId) ?? 1) - 1
      if (left > 0) places.set(userId, left)
      else places.delete(userId)
    }
  }

  function add(run: Parameters<ImportQueue['add']>[0], release: () => void): void {
    const work = run(turn, closing.signal)
      .catch((error: unknown) => log.error({ err: error }, 'the record of an import could not be written'))
      .finally(() => {
        release()
        pending.delete(work)
      })
    pending.add(work)
    void addRunning(rounds, 'an import', work)
  }

  async function close(): Promise<void> {
    closing.abort()
    await Promise.all(pending)
  }
}
