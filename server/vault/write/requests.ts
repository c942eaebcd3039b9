/** Limits the exports that a service streams, and checks access. */
import type { Deps } from '../../base/deps.ts'
import { authorizeOrg } from '../../domain/access.ts'
import { type Actor, callerOf } from '../../domain/actor.ts'
import { createCallerSemaphore } from '../../domain/caller-semaphore.ts'
import { slugOf } from '../../domain/format/slug.ts'
import type { OrgAt } from '../../domain/targets.ts'
import { type ExportedFile, exportFiles } from './exported-files.ts'

/** Limits simultaneous exports of this process. A slow client occupies its slot. */
const semaphore = createCallerSemaphore({
  all: { running: 3, waiting: 32 },
  person: { running: 1, waiting: 4 },
  anonymous: { running: 2, waiting: 16 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many exports are running; try again in a moment',
})

export interface OrgExport {
  /** The name of the organisation, as a readable slug. */
  readonly name: string
  /**
   * Streams the export. `by` has the caller's IP address, and the signal that ends the export.
   *
   * @throws AppError busy, before `write` is called; the errors of `write`, including those of exportFiles
   */
  send(
    write: (files: AsyncGenerator<ExportedFile>) => Promise<void>,
    by: { readonly signal: AbortSignal; readonly from: string },
  ): Promise<void>
}

/** Opens an export of the organisation. @throws AppError as authorizeOrg */
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
