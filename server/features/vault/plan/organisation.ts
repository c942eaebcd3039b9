/** Chooses a vault's organisation: its own, one of an earlier import, or a new one. */
import { posix } from 'node:path'
import type { Folder } from '../read/folder.ts'
import type { KnownNode } from './inventory.ts'

export interface Candidate {
  readonly id: string
  readonly name: string
  readonly vault_id?: string
  readonly role?: string
}

/** A choice. `isGuest` is true if the organisation belongs to another vault; the two stay separate. */
export type Choice<T> =
  | { readonly org: T; readonly isGuest: boolean; readonly note?: string }
  | { readonly name: string; readonly note?: string }

interface Wanted {
  /** The vault's id; undefined if the folder has none yet, or cannot have one. */
  readonly vaultId: string | undefined
  /** The organisation that was exported to the folder, if the folder has no vault id. */
  readonly exportOf: string | undefined
  /** Organisations of other vaults that the folder was imported into, latest first. */
  readonly hosts: readonly string[]
  readonly name: string
  /** True if the caller chose the name. */
  readonly isNamed: boolean
  /** True if contributors may choose the organisation, because they only propose. */
  readonly propose: boolean
  readonly folder: Folder
  /** Returns the nodes of an organisation. Only nodes from its own vault have a path. */
  readonly nodesOf: (orgId: string) => Promise<readonly KnownNode[]>
}

/** The error if several organisations belong to the vault. */
export class SeveralOrganisationsError extends Error {
  constructor(orgs: readonly Candidate[]) {
    super(`Several organisations belong to this vault: ${orgs.map(({ id }) => id).join(', ')}; choose one with --org`)
    this.name = 'SeveralOrganisationsError'
  }
}

/** The error if the user may not import into the organisation of the folder. */
export class OnlyReaderError extends Error {
  constructor({ id, name, role }: Candidate) {
    const may = role === 'contributor' ? 'propose changes to' : 'read'
    super(
      `You may only ${may} the organisation of this folder, ${name} (${id}). Ask one of its owners for the editor role, ${role === 'contributor' ? 'use --propose, ' : ''}or use --name to create another organisation`,
    )
    this.name = 'OnlyReaderError'
  }
}

/** Chooses the organisation. @param orgs those of the user. @throws SeveralOrganisationsError, OnlyReaderError */
export async function chooseOrg<T extends Candidate>(orgs: readonly T[], wanted: Wanted): Promise<Choice<T>> {
  const { vaultId, exportOf, hosts, name, isNamed, propose } = wanted
  const isClosed = ({ role }: Candidate) => role === 'reader' || (role === 'contributor' && !propose)
  const isOwn = ({ id, vault_id }: Candidate) =>
    vault_id === undefined ? id === exportOf : vaultId !== undefined && vault_id === vaultId
  const writable = orgs.filter((org) => !isClosed(org))
  const [own, ...more] = writable.filter(isOwn)
  if (own && more.length > 0) throw new SeveralOrganisationsError([own, ...more])
  if (own) return { org: own, isGuest: false }
  const read = orgs.find(isOwn)
  if (read && !isNamed) throw new OnlyReaderError(read)
  const host = isNamed ? undefined : hosts.map((id) => orgs.find((org) => org.id === id)).find((org) => org)
  if (host && isClosed(host)) throw new OnlyReaderError(host)
  if (host && vaultId !== undefined)
    return { org: host, isGuest: true, note: `${guestNote}; it was chosen earlier with --org` }
  for (const org of writable)
    if (org.name === name && org.vault_id === undefined) {
      const fit = await fitOf(org, wanted)
      if (fit === 'empty') return { org, isGuest: false }
      if (fit === 'same')
        return {
          org,
          isGuest: false,
          note: 'most of its nodes come from files of this folder, so it is treated as this vault',
        }
    }
  const isTaken = (one: string) => orgs.some((org) => org.name === one)
  const free = freeName(name, isTaken)
  return free === name
    ? { name }
    : { name: free, note: `another organisation is called ${name}; use --org to import into it` }
}

/** Returns the choice for an organisation that the caller named. */
export async function fitInto<T extends Candidate>(org: T, wanted: Wanted): Promise<Choice<T>> {
  const { vaultId } = wanted
  if (vaultId === undefined || org.vault_id === vaultId) return { org, isGuest: false }
  const isGuest = org.vault_id !== undefined || (await fitOf(org, wanted)) === 'other'
  return isGuest ? { org, isGuest, note: guestNote } : { org, isGuest }
}

const guestNote = 'it belongs to another vault, whose nodes are not changed'

/**
 * Classifies an organisation without a vault by its nodes.
 *
 * It is `same` if at least half of its imported nodes come from this folder.
 */
async function fitOf({ id }: Candidate, { folder, nodesOf }: Wanted): Promise<'empty' | 'written' | 'same' | 'other'> {
  const nodes = await nodesOf(id)
  if (nodes.length === 0) return 'empty'
  const present = new Set(['.', ...folder.files, ...folder.files.flatMap(foldersAbove)])
  const imported = nodes.map(({ path }) => path).filter((path) => path !== undefined)
  const shared = imported.filter((path) => present.has(path))
  if (imported.length === 0) return 'written'
  return shared.length * 2 >= imported.length ? 'same' : 'other'
}

function foldersAbove(path: string): string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)]
}

/** Returns the first free name: `en`, `en (2)`, `en (3)`. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name
  for (let number = 2; isTaken(free); number++) free = `${name.slice(0, 190)} (${number})`
  return free
}
