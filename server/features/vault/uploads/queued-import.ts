/** Runs a received import in its turn, in another process, and records its end. */

import { answerOf } from '../../../base/error-mapping.ts'
import * as limits from '../../../base/limits.ts'
import type { Services, Turn } from '../../../domain/services.ts'
import { runInProcess } from './import-child.ts'
import type { ImportOrder, Outcome } from './order.ts'
import type { ImportRecord } from './record-format.ts'
import { importFolder, isAskedToCancel, removeSpool, writeRecord, writeReport } from './records.ts'

/** Milliseconds between two checks for a request to cancel, and between two writes of progress. */
const lookEveryMs = 300

interface QueuedImport {
  readonly record: ImportRecord
  readonly order: Omit<ImportOrder, 'config' | 'folder'>
}

/** Runs one import when it is its turn, and writes its record as it goes. */
export async function runQueued(
  { store: { root }, config, log, now }: Services,
  { record: queued, order }: QueuedImport,
  turn: Turn,
  closing: AbortSignal,
): Promise<void> {
  const folder = importFolder(root, queued)
  const why = { closing, cancelled: new AbortController(), overdue: new AbortController() }
  const stopping = AbortSignal.any([closing, why.cancelled.signal, why.overdue.signal])
  const state = recordWriter(root, queued)
  const looking = setInterval(() => {
    if (isAskedToCancel(folder)) why.cancelled.abort()
    state.writeProgress()
  }, lookEveryMs)
  let overdue: NodeJS.Timeout | undefined
  const runIt = async (): Promise<Outcome> => {
    if (stopping.aborted) return { kind: 'ended' }
    overdue = setTimeout(() => why.overdue.abort(), limits.importRunMs)
    await state.write({ state: 'running', started_at: now().toISOString() })
    const outcome = await runInProcess({ ...order, config, folder }, state.progress, stopping)
    if (outcome.kind === 'done') await writeReport(root, queued, outcome.report)
    return outcome
  }
  const outcome = await untilStopped(turn(runIt), stopping, () => overdue === undefined).catch(
    (error: unknown): Outcome => {
      log.error({ err: error }, 'an import could not be started, or its report could not be written')
      return { kind: 'failed', detail: answerOf(error)?.message ?? 'The service failed during the import' }
    },
  )
  clearTimeout(overdue)
  clearInterval(looking)
  // Before the last record, which needs room and says that nothing is left.
  await removeSpool(folder)
  await state.write({ ...endOf(outcome, why), ended_at: now().toISOString() })
}

/** Returns the outcome, or the end of an import that was stopped before its turn. */
function untilStopped(outcome: Promise<Outcome>, stopping: AbortSignal, isWaiting: () => boolean): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      if (isWaiting()) resolve({ kind: 'ended' })
    }
    stopping.addEventListener('abort', stop, { once: true })
    if (stopping.aborted) stop()
    outcome.then(resolve, reject)
  })
}

/** Writes changes of a record, one after the other. Progress is only kept until the next write. */
function recordWriter(root: string, first: ImportRecord) {
  let record = first
  let written = first
  let writing = Promise.resolve()
  const write = (changes: Partial<ImportRecord>): Promise<void> => {
    record = { ...record, ...changes }
    const next = record
    written = next
    writing = writing.catch(() => {}).then(() => writeRecord(root, next))
    return writing
  }
  return {
    write,
    progress: (progress: ImportRecord['progress']) => {
      record = { ...record, progress }
    },
    /** A full disk shows in the last record, or in the import itself. */
    writeProgress: () => {
      if (record !== written) write({}).catch(() => {})
    },
  }
}

interface Why {
  readonly closing: AbortSignal
  readonly cancelled: AbortController
  readonly overdue: AbortController
}

function endOf(outcome: Outcome, { closing, cancelled, overdue }: Why): Pick<ImportRecord, 'state' | 'detail'> {
  if (outcome.kind === 'done') return { state: 'done' }
  if (outcome.kind === 'failed') return { state: 'failed', detail: outcome.detail }
  if (cancelled.signal.aborted)
    return { state: 'cancelled', detail: 'The import was cancelled. Everything written until then stays' }
  if (overdue.signal.aborted)
    return {
      state: 'failed',
      detail: `The import took more than ${limits.importRunMs / 60_000} minutes. Everything written until then stays; import the same again to complete it`,
    }
  return {
    state: 'interrupted',
    detail: `${closing.aborted ? 'The service stopped during the import' : 'The process of the import ended, perhaps because it had too little memory'}. Everything written until then stays; import the same again to complete it`,
  }
}
