/** Exports that a service streams: to whom, how many at once. */
import type { Deps } from '../../base/deps.ts'
import { authorizeOrg } from '../../domain/access.ts'
import { type Actor, callerOf } from '../../domain/actor.ts'
import { createCallerSemaphore } from '../../domain/caller-semaphore.ts'
import { slugOf } from '../../domain/format/slug.ts'
import type { OrgAt } from '../../domain/targets.ts'
import { type ExportedFile, exportFiles } from './exported-files.ts'

/** Exports of this process; a slow client holds its slot. */
const semaphore = createCallerSemaphore({
  all: { running: 3, waiting: 32 },
  person: { running: 1, waiting: 4 },
  anonymous: { running: 2, waiting: 16 },
  waitTimeoutMs: 30_000,
  refusal: 'Others export just now; try again',
})

export interface OrgExport {
  /** Of the organisation, readable. */
  readonly name: string
  /**
   * @param by the signal that ends it, and the address of the reader
   * @throws AppError busy, before `write` is called; what `write` throws; as exportFiles, where `write` reads the files
   */
  send(
    write: (files: AsyncGenerator<ExportedFile>) => Promise<void>,
    by: { readonly signal: AbortSignal; readonly from: string },
  ): Promise<void>
}

/** @throws AppError as authorizeOrg */
export async function openExport(deps: Deps, actor: Actor, at: OrgAt): Promise<OrgExport> {
  const { org } = await authorizeOrg(deps, actor, at, 'public')
  const checkAccess = async () => void (await authorizeOrg(deps, actor, at, 'public'))
  return {
    name: slugOf(org.name),
    send: (write, { signal, from }) => {
      const send = () => write(exportFiles(deps, at, { signal, checkAccess }))
      return semaphore.run({ caller: callerOf({ actor, from }), signal }, send)
    },
  }
}
