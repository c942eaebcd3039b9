/** The link with which a user sets a password. It is shown once. */

import { Secret } from '../kit/parts.tsx'
import type { Urls } from '../urls.ts'
import { When } from './dates.tsx'

interface ResetLinkProps {
  readonly urls: Urls
  /** The user's name. */
  readonly name: string
  readonly token: { readonly reset_token: string; readonly expires_at: string }
}

export function ResetLink({ urls, name, token: { reset_token, expires_at } }: ResetLinkProps) {
  return (
    <Secret what="link" label="Link to set a password" secret={resetUrl(urls, reset_token)}>
      <p>
        Send this link to {name} now. It is shown only once, works once, and expires on{' '}
        <When time={expires_at} as="day" />. Anyone who has it can take over the account.
      </p>
    </Secret>
  )
}

/** The token is in the fragment. Browsers do not send it, so no log has it. */
function resetUrl(urls: Urls, token: string): string {
  return `${urls.absolute(urls.reset())}#${token}`
}
