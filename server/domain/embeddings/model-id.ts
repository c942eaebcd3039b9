/** Identities of models, by which vectors are stored. */

import { createHash } from 'node:crypto'

export interface ModelIdentity {
  readonly name: string
  /** The dimensions asked for. Absent: the model decides. */
  readonly dimensions?: number
  readonly textPrefix: string
  readonly queryPrefix: string
}

/** Returns 16 bytes of SHA-256 in hex. */
export function modelId({ name, dimensions, textPrefix, queryPrefix }: ModelIdentity): string {
  const identity = JSON.stringify([name, dimensions ?? null, textPrefix, queryPrefix])
  return createHash('sha256').update(identity).digest('hex').slice(0, 32)
}
