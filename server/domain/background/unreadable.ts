/** Logs each unreadable repository once, and once more when it can be read again. */
import { isDamage } from '../../../gitstore/errors.ts'
import type { UnreadableRepository } from '../indexing/reindex.ts'
import type { Services } from '../services.ts'

/**
 * Receives the repositories found unreadable since the last call. `isOver`: all repositories have been checked since it
 * was last true. A known one that was not found again can be read, or is gone.
 */
export type Report = (unreadable: readonly UnreadableRepository[], isOver: boolean) => void

export function createReporter({ log, metrics }: Pick<Services, 'log' | 'metrics'>): Report {
  const known = new Map<string, UnreadableRepository>()
  const found = new Set<string>()
  return (unreadable, isOver) => {
    for (const one of unreadable) {
      const { path, reason, error } = one
      if (known.get(path)?.reason !== reason)
        log.error({ err: error, path }, 'a repository cannot be read; it answers 503 until it is repaired')
      known.set(path, one)
      found.add(path)
    }
    if (isOver) {
      for (const path of known.keys())
        if (!found.has(path)) {
          known.delete(path)
          log.warn({ path }, 'a repository can be read again')
        }
      found.clear()
    }
    const all = [...known.values()]
    metrics.unreadable.set(all.filter(({ error }) => isDamage(error)).length)
    metrics.behindNodes.set(all.filter(({ path }) => path.includes('/')).length)
  }
}
