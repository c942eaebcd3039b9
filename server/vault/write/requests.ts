/** Limits the exports that a service streams, and checks access. */
import type { Deps } from '../../base/deps.ts'
import { authorizeNodeInOrg, authorizeOrg } from '../../domain/access.ts'
import { type Actor, callerOf } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import { createCallerSemaphore } from '../../domain/caller-semaphore.ts'
import { slugOf } from '../../domain/format/slug.ts'
import type { OrgAt } from '../../domain/targets.ts'
import { noteName } from '../../markdown/vault-paths.ts'
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
  /** The name as that of a folder. */
  readonly folder: string
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

/**
 * Opens an export of the organisation.
 *
 * @param under the id of a node, for an export of it and its descendants
 * @throws AppError as authorizeOrg and authorizeNodeInOrg
 */
export async function openExport(deps: Deps, actor: Actor, at: OrgAt, under?: string): Promise<OrgExport> {
  const access = await authorizeOrg(deps, actor, at, 'public')
  const { org } = access
  const top = under === undefined ? undefined : (await authorizeNodeInOrg(deps, access, under, 'public')).node
  const detail = top === undefined ? {} : { under: top.id }
  const checkAccess = async () => void (await authorizeOrg(deps, actor, at, 'public'))
  return {
    name: slugOf(top?.title ?? org.name),
    folder: noteName(top?.title ?? org.name),
    send: (write, { signal, from }) => {
      const send = async () => {
        await audit(deps, { action: 'org.exported', actor, orgId: org.id, target: { type: 'org', id: org.id }, detail })
        return write(exportFiles(deps, at, { signal, checkAccess, ...(top && { under: top.id }) }))
      }
      return semaphore.run({ caller: callerOf({ actor, from }), signal }, send)
    },
  }
}
