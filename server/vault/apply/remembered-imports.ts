/**
 * What imports have found unchanged, a file for each organisation in `imports/` of the data folder: an import of the same files
 * into the same state of the organisation is known without reading them. The files may be deleted at any time.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { makeFolder, replaceFile } from '../../../gitstore/durable.ts'
import { readRegular } from '../../../gitstore/regular-files.ts'
import { findOrgState } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { parseJson } from '../../domain/format/json-text.ts'
import { asJson } from '../../domain/format/signatures.ts'
import { importsFolder } from '../../domain/layout.ts'

const rememberedSchema = z.object({
  /** Of the folder, as folderState gives it. */
  folder: z.string(),
  /** Of the organisation, as stateOfOrg gives it. */
  org: z.string(),
  /** What the import said. */
  lines: z.array(z.string()),
})

export type RememberedImport = z.infer<typeof rememberedSchema>

/** Bytes of a file; what would be longer is not remembered. */
const mostBytes = 1_048_576

/** Another one after each change of the organisation or of its nodes. */
export async function stateOfOrg({ index }: Deps, orgId: string): Promise<string | undefined> {
  const row = await findOrgState(index.read, orgId)
  return row && `${row.epoch} ${row.version}`
}

/** The last one; undefined where there is none or its file is damaged. @throws system errors */
export async function findRememberedImport({ store }: Deps, orgId: string): Promise<RememberedImport | undefined> {
  const bytes = await readRegular(fileOf(store.root, orgId), mostBytes)
  if (bytes === undefined || typeof bytes === 'string') return undefined
  return rememberedSchema.safeParse(parseJson(bytes.toString())).data
}

/** @throws GitError storage_* */
export async function rememberImport({ store }: Deps, orgId: string, remembered: RememberedImport): Promise<void> {
  const text = asJson(remembered)
  if (text.length > mostBytes) return
  await makeFolder(importsFolder(store.root))
  await replaceFile(fileOf(store.root, orgId), text)
}

function fileOf(root: string, orgId: string): string {
  return join(importsFolder(root), `${orgId}.json`)
}
