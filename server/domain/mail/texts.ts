/** The text of each mail. */
import type { Letter } from './letter.ts'
import { shownName } from './shown-name.ts'

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

export function verificationLetter({ url, token }: TokenLink): Letter {
  return {
    subject: 'Confirm your e-mail address for Grove',
    paragraphs: [
      'An account on Grove has this e-mail address. Confirm that it is yours.',
      'The link works within three days.',
    ],
    link: { label: 'Confirm the address', url },
    code: token,
    otherwise: 'If you have no account on Grove, ignore this mail, and do not confirm the address.',
  }
}

export interface InvitationFacts {
  /** The names of the organisation and of the owner, as they chose them. */
  readonly org: string
  readonly by: string
  readonly role: string
  /** ISO 8601. */
  readonly expiresAt: string
}

export function invitationLetter({ url, token }: TokenLink, { org, by, role, expiresAt }: InvitationFacts): Letter {
  const name = shownName(org)
  return {
    subject: `Invitation to “${name}”`,
    paragraphs: [
      `“${shownName(by)}” invites you to join the organisation “${name}” on Grove as ${role}.`,
      `The invitation is only for this e-mail address, and ends on ${dayOf(expiresAt)}.`,
    ],
    link: { label: 'Join', url },
    code: token,
    otherwise: 'If you do not expect it, ignore this mail: nothing happens.',
  }
}

function dayOf(time: string): string {
  return `${time.slice(0, 10)} (UTC)`
}
