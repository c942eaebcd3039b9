/** Reads and writes `.grove/vault.json`, which identifies a vault after its folder is moved or renamed. */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { v4 as newId } from 'uuid'
import { z } from 'zod'
import { makeFolder, replaceFile, syncDirectory, writeSynced } from '../../../../gitstore/durable.ts'
import { codeOf } from '../../../../gitstore/errors.ts'
import { ignoreMissing } from '../../../../gitstore/fs-exists.ts'
import { withHeldFolder } from '../../../../gitstore/held-folders.ts'
import { readRegular } from '../../../../gitstore/regular-files.ts'
import { parseJson } from '../../../domain/format/json-text.ts'
import { isId } from '../../../domain/layout.ts'

const folderName = '.grove'
const fileName = 'vault.json'
export const vaultFile = `${folderName}/${fileName}`

/** Largest size of the file, in bytes. */
const maxBytes = 65_536

const uuid = z.string().refine(isId)
/**
 * The file.
 *
 * `guest_of` lists organisations of other vaults that the folder was imported into with --org, latest last.
 */
const vaultSchema = z.looseObject({ id: uuid, guest_of: z.array(uuid).optional() })

type VaultFile = z.infer<typeof vaultSchema>

/** Largest number of organisations in `guest_of`. */
const maxGuests = 20

/** The error if the file exists, but an import did not write it. */
export class DamagedVaultFileError extends Error {
  constructor(reason: string) {
    super(`${vaultFile} ${reason}; repair it, or remove it to import the folder as a separate vault`)
    this.name = 'DamagedVaultFileError'
  }
}

/** Returns the vault's id; undefined if the file is missing or empty. @throws DamagedVaultFileError; system errors */
export async function findVaultId(dir: string): Promise<string | undefined> {
  return (await findVaultFile(dir))?.id
}

/** Returns the organisations in `guest_of`, latest first. @throws the errors of findVaultId */
export async function findHosts(dir: string): Promise<string[]> {
  return (await findVaultFile(dir))?.guest_of?.toReversed() ?? []
}

/** Records that the folder was imported into another vault's organisation. @throws the errors of makeVaultId */
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
 * Gives the folder an id, durably. Two simultaneous imports return the same id.
 *
 * @param id the id of the exported vault; otherwise a new one
 * @throws DamagedVaultFileError; GitError storage_* and system errors, if the folder cannot be written to
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
