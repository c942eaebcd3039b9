/** What other services need to verify a token of this one. */
import type { Deps } from '../../base/deps.ts'
import { Refusal } from '../../base/errors.ts'
import { algorithm } from './keys.ts'

/** Source: RFC 7517 §5. */
export async function readJwks({ keys, now }: Deps) {
  return { keys: await keys.published(now().getTime()) }
}

/** Source: OpenID Connect Discovery 1.0 §3. @throws Refusal not_found: no address to which clients could hold the issuer */
export function readOpenidConfiguration({ config: { publicUrl } }: Deps) {
  if (!publicUrl?.startsWith('https:')) throw new Refusal('not_found', 'PUBLIC_URL is not https')
  return {
    issuer: publicUrl,
    jwks_uri: `${publicUrl}/.well-known/jwks.json`,
    id_token_signing_alg_values_supported: [algorithm],
    subject_types_supported: ['public'],
    claims_supported: ['iss', 'aud', 'sub', 'iat', 'exp', 'jti', 'token_use', 'email', 'name'],
  }
}
