/** Hashes of the files of an exported folder. */
import { createHash } from 'node:crypto'
import { openRegular } from '../../../gitstore/regular-files.ts'

/** Bytes read at a time. */
const chunkBytes = 1_048_576

type Hashed = { readonly hash: string } | { readonly kind: string } | undefined

/** The SHA-256 of a regular file; of anything else, what it is; undefined for nothing. @param root as openRegular */
export async function hashOf(path: string, root?: string): Promise<Hashed> {
  const file = await openRegular(path, root)
  if (file === undefined) return undefined
  if (typeof file === 'string') return { kind: file }
  try {
    const hash = createHash('sha256')
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes)
      if (bytesRead === 0) return { hash: hash.digest('hex') }
      hash.update(buffer.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}
