/** Embeds all texts of organisations now, for a command. The follower of a service takes turns instead. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FollowedOrg } from '../../../index/derived/followed-nodes.ts'
import { DatabaseError } from '../../../index/sqlite/database.ts'
import { withFileLock } from '../../../index/sqlite/file-lock.ts'
import type { Deps } from '../../base/deps.ts'
import { runFolder } from '../layout.ts'
import type { Embeddings } from './embeddings.ts'
import { type Following, followOrg } from './follow-org.ts'
import { EmbeddingError } from './model.ts'

/** Called as the work proceeds. */
export interface Observer {
  embedded(texts: number): void
  /** The model cannot embed now. It is asked again after a pause. */
  paused(error: EmbeddingError): void
}

/** Returns the path of the lock of the process that embeds. */
export function embeddingLock({ store }: Pick<Deps, 'store'>): string {
  return join(runFolder(store.root), 'embedding')
}

/**
 * Embeds until nothing is left. A kill loses one batch.
 *
 * @returns false if another process embeds
 * @throws DatabaseError, the signal's reason
 */
export async function embedNow(
  following: Following & Pick<Deps, 'store'>,
  orgs: readonly FollowedOrg[],
  observer: Observer,
): Promise<boolean> {
  const observed = { ...following, embeddings: observedBy(following.embeddings, observer) }
  let isOurs = false
  const work = async () => {
    isOurs = true
    for (const org of orgs) await embedOrg(observed, org, observer)
  }
  await withFileLock(embeddingLock(following), following.signal, work, 0).catch((error: unknown) => {
    if (isOurs || !(error instanceof DatabaseError && error.code === 'busy')) throw error
  })
  following.signal.throwIfAborted()
  return isOurs
}

async function embedOrg(following: Following, org: FollowedOrg, observer: Observer): Promise<void> {
  for (;;) {
    try {
      const { kind } = await followOrg(following, org)
      if (kind === 'done' || kind === 'not allowed') return
    } catch (error) {
      if (following.signal.aborted || !(error instanceof EmbeddingError)) throw error
      observer.paused(error)
      await sleep(Math.max(error.retryAfterMs, 1), undefined, { signal: following.signal })
    }
  }
}

/** Returns the same with a model that counts. A step that fails does not say how many texts it embedded before. */
function observedBy(embeddings: Embeddings, observer: Observer): Embeddings {
  const { model } = embeddings
  return {
    ...embeddings,
    model: {
      id: model.id,
      name: model.name,
      languages: model.languages,
      leavesMachine: model.leavesMachine,
      embedTexts: async (texts, signal) => {
        const vectors = await model.embedTexts(texts, signal)
        observer.embedded(texts.length)
        return vectors
      },
      embedQuestion: (text, signal) => model.embedQuestion(text, signal),
      close: () => model.close(),
    },
  }
}
