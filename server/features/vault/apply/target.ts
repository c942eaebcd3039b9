/** Chooses the organisation that an import writes to. */
import { basename, resolve } from 'node:path'
import { v4 as newId } from 'uuid'
import { codeOf } from '../../../../gitstore/errors.ts'
import { toSingleLine } from '../../../markdown/single-line.ts'
import { chooseOrg, fitInto } from '../plan/organisation.ts'
import { type Manifest, readManifest } from '../read/export-manifest.ts'
import type { Folder } from '../read/folder.ts'
import {
  DamagedVaultFileError,
  findHosts,
  findVaultId,
  makeVaultId,
  rememberHost,
  vaultFile,
} from '../read/vault-file.ts'
import type { Destination } from './destination.ts'

export interface Target {
  readonly id: string
  readonly name: string
  readonly isNew: boolean
  /** The vault, if the organisation belongs to another one. */
  readonly guest: string | undefined
  /** Sentences for the summary. */
  readonly notes: readonly string[]
  /** The path of each node's note in an export into the folder, by node id. */
  readonly exported: ReadonlyMap<string, string>
}

/** The error for --prune if the organisation may belong to another folder. */
export class UnknownVaultError extends Error {
  constructor() {
    super(`--prune needs a folder with a ${vaultFile}, because the organisation may belong to another vault`)
    this.name = 'UnknownVaultError'
  }
}

export interface TargetOptions {
  readonly org?: string
  readonly name?: string
  readonly dryRun?: boolean
  readonly prune?: boolean
  readonly propose?: boolean
}

/**
 * Chooses or creates the organisation.
 *
 * Writes the vault's id to the folder and the organisation if they have none. A dry run writes nothing.
 *
 * @throws UnknownVaultError, DamagedVaultFileError, SeveralOrganisationsError, OnlyReaderError; the destination's
 * errors
 */
export async function targetOf(to: Destination, folder: Folder, options: TargetOptions): Promise<Target> {
  const { dryRun = false, propose = false } = options
  const notes: string[] = []
  const foundId = await findVaultId(folder.dir)
  const manifest = await readExport(folder.dir, notes)
  const exportOf = foundId === undefined ? manifest?.orgId : undefined
  const vaultId = foundId ?? (dryRun ? newId() : await makeId(folder.dir, notes))
  const name = toSingleLine(options.name ?? basename(resolve(folder.dir)), 200) || 'Imported'
  const wanted = {
    ...{
      vaultId,
      exportOf,
      hosts: await findHosts(folder.dir),
      name,
      isNamed: options.name !== undefined,
      propose,
      folder,
    },
    nodesOf: (orgId: string) => to.knownNodes(orgId, undefined),
  }
  const choice =
    options.org === undefined
      ? await chooseOrg(await to.listOrgs(), wanted)
      : await fitInto(await to.readOrg(options.org), wanted)
  if (choice.note !== undefined) notes.push(choice.note)
  if (!('org' in choice)) {
    const given = vaultId === undefined ? {} : { vault_id: vaultId }
    const { id } = dryRun ? { id: newId() } : await to.createOrg({ name: choice.name, ...given })
    return { id, name: choice.name, isNew: true, guest: undefined, notes, exported: new Map() }
  }
  const { org, isGuest } = choice
  if (options.name !== undefined && org.name !== name)
    notes.push(`its name was not changed: --name ${name} applies only to a new organisation`)
  if (options.prune && vaultId === undefined && org.vault_id !== undefined) throw new UnknownVaultError()
  if (org.vault_id === undefined && vaultId !== undefined && !isGuest && !dryRun && !propose) {
    const note = await to.adoptVault(org.id, vaultId)
    if (note !== undefined) notes.push(note)
  }
  if (isGuest && !dryRun) await keepHost(folder.dir, org.id, notes)
  const exported = !isGuest && manifest?.orgId === org.id ? manifest.notes : new Map<string, string>()
  return { id: org.id, name: org.name, isNew: false, guest: isGuest ? vaultId : undefined, notes, exported }
}

/** Reads the manifest of an export; undefined if the folder is not an export. */
async function readExport(dir: string, notes: string[]): Promise<Manifest | undefined> {
  try {
    return await readManifest(dir)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (codeOf(error) === 'ENOTDIR') return undefined
    notes.push(`the folder's record of an export cannot be read: ${error.message}`)
    return undefined
  }
}

async function keepHost(dir: string, orgId: string, notes: string[]): Promise<void> {
  try {
    await rememberHost(dir, orgId)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    notes.push(`${vaultFile} cannot be written (${error.message}); use --org again next time`)
  }
}

async function makeId(dir: string, notes: string[]): Promise<string | undefined> {
  try {
    return await makeVaultId(dir)
  } catch (error) {
    if (error instanceof DamagedVaultFileError || !(error instanceof Error)) throw error
    notes.push(`${vaultFile} cannot be written (${error.message}); the folder is identified only by its name`)
    return undefined
  }
}
