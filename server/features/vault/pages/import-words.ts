/** The words that pages use for the states and phases of an import. */

import type { AnswerOf } from '../../../http/in-process.ts'

type Import = AnswerOf<'getImport'>

export const stateWords: Readonly<Record<Import['state'], string>> = {
  queued: 'Waiting',
  running: 'Running',
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
  interrupted: 'Interrupted',
}

const phaseWords: Readonly<Record<Import['progress']['phase'], string>> = {
  receiving: 'Receiving the files',
  waiting: 'Waiting to begin',
  unpacking: 'Unpacking files',
  reading: 'Reading files',
  writing: 'Writing pages',
}

/** Returns how far an import has come: `Reading files: 120 of 480`. */
export function progressWords({ phase, done, total }: Import['progress']): string {
  return total === 0 ? `${phaseWords[phase]}…` : `${phaseWords[phase]}: ${grouped(done)} of ${grouped(total)}`
}

function grouped(count: number): string {
  return count.toLocaleString('en')
}
