/** `grove export`: writes an organisation as a folder of Markdown. */
import { readdir, realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { makeFolder } from '../../../../gitstore/durable.ts'
import { exists } from '../../../../gitstore/fs-exists.ts'
import { findOrgsNamed, type OrgRow } from '../../../../index/derived/org-queries.ts'
import { wholeOrg } from '../../../../index/derived/sees.ts'
import { plural } from '../../../base/plural.ts'
import {
  type Call,
  printLine,
  printProblems,
  progressFor,
  requireFolder,
  UsageError,
  withDeps,
} from '../../../cli/commands/command.ts'
import { operator } from '../../../domain/actor.ts'
import { audit } from '../../../domain/audit/audit.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { findOrg } from '../../../domain/indexing/freshness.ts'
import { canonicalId } from '../../../domain/layout.ts'
import type { Services } from '../../../domain/services.ts'
import { type Manifest, readManifest } from '../read/export-manifest.ts'
import { findVaultId, makeVaultId } from '../read/vault-file.ts'
import { exportFiles } from '../write/exported-files.ts'
import { writeFolder } from '../write/exported-folder.ts'

/** Exports an organisation. Returns 1 if a node could not be read, or if a foreign file was kept. */
export async function exportTo(call: Call, orgName: string, target: string): Promise<number> {
  const { config, signal } = call
  await requireFolder(config.dataDir)
  return withDeps(call, async (deps) => {
    const org = await orgNamed(deps, orgName)
    const dir = await folderFor(config.dataDir, target)
    const before = await manifestBefore(dir, org.id)
    const exported = { action: 'org.exported', actor: operator, orgId: org.id } as const
    await audit(deps, { ...exported, target: { type: 'org', id: org.id } })
    const progress = progressFor('Exporting')
    const faults: PathProblem[] = []
    const files = exportFiles(deps, wholeOrg(org.id), {
      signal,
      onProgress: progress.at,
      onFault: (path, { message }) => faults.push({ path, reason: message }),
    })
    const done = await writeFolder(dir, org.id, before, files, () => faults.length > 0)
    // An import of the folder then finds the organisation again.
    if (org.vault_id !== null && (await findVaultId(dir)) === undefined) await makeVaultId(dir, org.vault_id)
    progress.end()
    printLine(
      `${org.name} (${org.id}) in ${dir}: ${plural(done.written, 'file')} written, ${done.unchanged} unchanged, ${done.removed} removed`,
    )
    return printProblems([...faults, ...done.problems])
  })
}

/** @throws UsageError */
async function orgNamed(deps: Services, name: string): Promise<OrgRow> {
  const byId = await findOrg(deps, canonicalId(name))
  if (byId) return byId
  const [org, another] = await findOrgsNamed(deps.index.read, name)
  if (!org) throw new UsageError(`There is no organisation ${name}`)
  if (another) throw new UsageError(`Several organisations are called ${name}; use the id of one, such as ${org.id}`)
  return org
}

/**
 * Returns the folder with symbolic links resolved, and creates it if it is missing.
 *
 * @throws UsageError if it overlaps the data folder
 */
async function folderFor(dataDir: string, target: string): Promise<string> {
  const path = resolve(target)
  const refuseOverlap = (dir: string, data: string): void => {
    if (`${dir}${sep}`.startsWith(`${data}${sep}`) || `${data}${sep}`.startsWith(`${dir}${sep}`))
      throw new UsageError(`${dir} and the data folder ${data} must not contain each other`)
  }
  refuseOverlap(path, dataDir)
  if (exists(path)) await requireFolder(path)
  else await makeFolder(path)
  const dir = await realpath(path)
  refuseOverlap(dir, await realpath(dataDir))
  return dir
}

/**
 * Reads the manifest of the last export; undefined for an empty folder.
 *
 * @throws UsageError if the folder has anything except an export of the organisation
 */
async function manifestBefore(dir: string, orgId: string): Promise<Manifest | undefined> {
  if ((await readdir(dir)).length === 0) return undefined
  const manifest = await readManifest(dir).catch((error: unknown) => {
    throw new UsageError(`${dir} cannot be read: ${error instanceof Error ? error.message : error}`)
  })
  if (manifest?.orgId === orgId) return manifest
  const what = manifest ? `an export of the organisation ${manifest.orgId}` : 'not an export'
  throw new UsageError(`${dir} is not empty, and it is ${what}; use an empty folder`)
}
