/** Embeds all texts of organisations now, for a command. The embedder of a service takes turns instead. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangedOrg } from '../../../index/derived/changed-nodes.ts'
import { DatabaseError } from '../../../index/sqlite/database.ts'
import { withFileLock } from '../../../index/sqlite/file-lock.ts'
import { runFolder } from '../layout.ts'
import type { Services } from '../services.ts'
import { EmbeddingError, type EmbeddingModel } from './model.ts'
import { type StepDeps, takeStep } from './org-step.ts'

/** Called as the work proceeds. */
export interface Observer {
  embedded(texts: number): void
  /** The model cannot embed now. It is asked again after a pause. */
  paused(error: EmbeddingError): void
}

/** Milliseconds of the longest pause to wait out, and of all pauses between two answers. */
const [longestPauseMs, longestIdleMs] = [60_000, 300_000]

/** Returns the path of the lock of the process that embeds. */
export function embeddingLock({ store }: Pick<Services, 'store'>): string {
  return join(runFolder(store.root), 'embedding')
}

/**
 * Embeds until nothing is left. A kill loses one batch.
 *
 * @returns false if another process embeds
 * @throws EmbeddingError the model will not embed soon; DatabaseError, the signal's reason
 */
export async function embedNow(
  deps: StepDeps & Pick<Services, 'store'>,
  orgs: readonly ChangedOrg[],
  observer: Observer,
): Promise<boolean> {
  let isOurs = false
  const work = async () => {
    isOurs = true
    for (const org of orgs) await embedOrg(deps, org, observer)
  }
  await withFileLock(embeddingLock(deps), deps.signal, work, 0).catch((error: unknown) => {
    if (isOurs || !(error instanceof DatabaseError && error.code === 'busy')) throw error
  })
  deps.signal.throwIfAborted()
  return isOurs
}

async function embedOrg(deps: StepDeps, org: ChangedOrg, observer: Observer): Promise<void> {
  const { model } = deps.embeddings
  let idleMs = 0
  const embedTexts: typeof model.embedTexts = async (texts, signal) => {
    const vectors = await model.embedTexts(texts, signal)
    idleMs = 0
    observer.embedded(texts.length)
    return vectors
  }
  const observed = { ...deps, embeddings: { ...deps.embeddings, model: withTexts(model, embedTexts) } }
  for (;;) {
    try {
      const { kind } = await takeStep(observed, org)
      if (kind === 'done' || kind === 'not allowed') return
    } catch (error) {
      if (deps.signal.aborted || !(error instanceof EmbeddingError)) throw error
      idleMs += error.retryAfterMs
      if (error.retryAfterMs > longestPauseMs || idleMs > longestIdleMs) throw error
      observer.paused(error)
      await sleep(Math.max(error.retryAfterMs, 1), undefined, { signal: deps.signal })
    }
  }
}

/** Returns the model with another `embedTexts`. A step that fails does not say how many texts it embedded before. */
function withTexts(model: EmbeddingModel, embedTexts: EmbeddingModel['embedTexts']): EmbeddingModel {
  return {
    id: model.id,
    name: model.name,
    languages: model.languages,
    leavesMachine: model.leavesMachine,
    embedTexts,
    embedQuestion: (text, signal) => model.embedQuestion(text, signal),
    close: () => model.close(),
  }
}
