/** `.grove/vault.json` of a folder: which vault it is, wherever the folder lies and whatever it is called. */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { v4 as newId } from 'uuid'
import { z } from 'zod'
import { makeFolder, replaceFile, syncDirectory, writeSynced } from '../../../gitstore/durable.ts'
import { codeOf } from '../../../gitstore/errors.ts'
import { ignoreMissing } from '../../../gitstore/fs-exists.ts'
import { withHeldFolder } from '../../../gitstore/held-folders.ts'
import { readRegular } from '../../../gitstore/regular-files.ts'
import { parseJson } from '../../domain/format/json-text.ts'
import { isId } from '../../domain/layout.ts'

const folderName = '.grove'
const fileName = 'vault.json'
export const vaultFile = `${folderName}/${fileName}`

/** Bytes of the file. */
const maxBytes = 65_536

const uuid = z.string().refine(isId)
/** `guest_of`: organisations of other vaults into which the folder was imported with --org, the last one last. */
const vaultSchema = z.looseObject({ id: uuid, guest_of: z.array(uuid).optional() })

type VaultFile = z.infer<typeof vaultSchema>

/** Organisations that are remembered. */
const maxGuests = 20

/** The file is there, and is not what an import writes. */
export class DamagedVaultFileError extends Error {
  constructor(reason: string) {
    super(`${vaultFile} ${reason}; put it right, or remove it to import the folder as a vault of its own`)
    this.name = 'DamagedVaultFileError'
  }
}

/** Undefined where there is none, or one that was never written whole. @throws DamagedVaultFileError; system errors */
export async function findVaultId(dir: string): Promise<string | undefined> {
  return (await findVaultFile(dir))?.id
}

/** The organisations of other vaults that the folder was imported into, the last one first. @throws as findVaultId */
export async function findHosts(dir: string): Promise<string[]> {
  return (await findVaultFile(dir))?.guest_of?.toReversed() ?? []
}

/** Keeps that the folder goes into the organisation of another vault. @throws as makeVaultId */
export async function rememberHost(dir: string, orgId: string): Promise<void> {
  const known = await findVaultFile(dir)
  if (!known || known.guest_of?.at(-1) === orgId) return
  const others = known.guest_of?.filter((id) => id !== orgId) ?? []
  const guest_of = [...others, orgId].slice(-maxGuests)
  const text = `${JSON.stringify({ ...known, guest_of })}\n`
  await withHeldFolder(dir, folderName, (held) => replaceFile(join(held, fileName), text))
}

async function findVaultFile(dir: string): Promise<VaultFile | undefined> {
  const bytes = await ignoreMissing(readRegular(join(dir, vaultFile), maxBytes, dir))
  if (bytes === undefined || bytes.length === 0) return undefined
  if (typeof bytes === 'string') throw new DamagedVaultFileError(bytes)
  const { data } = vaultSchema.safeParse(parseJson(bytes.toString()))
  if (!data) throw new DamagedVaultFileError('has no UUID as its "id"')
  return data
}

/**
 * Gives the folder an id, durably; of two imports at once both answer the same.
 *
 * @param id of the vault that the folder is an export of; else a new one
 * @throws DamagedVaultFileError; GitError storage_*, and system errors, where the folder cannot be written to
 */
export async function makeVaultId(dir: string, id: string = newId()): Promise<string> {
  await makeFolder(join(dir, folderName))
  if (!(await lstat(join(dir, folderName))).isDirectory()) throw new Error(`${folderName} is not a folder`)
  const text = `${JSON.stringify({ id })}\n`
  return withHeldFolder(dir, folderName, async (held) => {
    try {
      await writeSynced(join(held, fileName), text)
      await syncDirectory(held)
      return id
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      const known = await findVaultId(dir)
      if (known !== undefined) return known
      await replaceFile(join(held, fileName), text)
      return id
    }
  })
}
