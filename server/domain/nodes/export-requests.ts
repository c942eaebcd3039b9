/** Exports that a service streams: to whom, how many at once. */
import type { Deps } from '../../deps.ts'
import { orgFor } from '../access.ts'
import type { Actor } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { slugOf } from '../format/slug.ts'
import { openSlots } from '../slots.ts'
import { type ExportedFile, exportFiles } from './exports.ts'

/** Exports of this process; a slow client holds its slot. All anonymous readers together count as one person. */
const inSlot = openSlots({
  running: 2,
  runningForOne: 1,
  waiting: 16,
  waitingForOne: 4,
  waitTimeoutMs: 30_000,
  refusal: 'Others export just now; try again',
})

export interface OrgExport {
  /** Of the organisation, readable. */
  readonly name: string
  /** @throws Refusal busy, before `write` is called; what `write` throws; as exportFiles, where `write` reads the files */
  send(write: (files: AsyncGenerator<ExportedFile>) => Promise<void>, signal: AbortSignal): Promise<void>
}

/** @throws Refusal as orgFor */
export async function openExport(deps: Deps, actor: Actor, at: OrgAt): Promise<OrgExport> {
  const { org } = await orgFor(deps, actor, at, 'public')
  const checkAccess = async () => void (await orgFor(deps, actor, at, 'public'))
  const key = actor.kind === 'anonymous' ? 'public' : actor.id
  return {
    name: slugOf(org.name),
    send: (write, signal) => inSlot(key, signal, () => write(exportFiles(deps, at, { signal, checkAccess }))),
  }
}
