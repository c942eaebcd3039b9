/** The text of each mail. */
import type { Letter } from './letter.ts'

const ignoreIt = 'If it was not you, ignore this mail: nothing has changed.'

/** A link that carries a token. */
export interface TokenLink {
  readonly url: string
  readonly token: string
}

/** The link is in the fragment, which no log has. @param base PUBLIC_URL */
export function tokenLink(base: string, page: 'reset' | 'verify' | 'join', token: string): TokenLink {
  return { url: `${base}/${page}#token=${token}`, token }
}

export function resetLetter({ url, token }: TokenLink): Letter {
  return {
    subject: 'Set a new password for Grove',
    paragraphs: [
      'Somebody asked for a new password for your account.',
      'The link works once, within one hour. A new password ends all your sessions and tokens.',
    ],
    link: { label: 'Set a new password', url },
    code: token,
    otherwise: ignoreIt,
  }
}
