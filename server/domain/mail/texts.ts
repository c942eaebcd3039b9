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
export function tokenLink(base: string, page: 'reset' | 'verify' | 'undo-email' | 'join', token: string): TokenLink {
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

export function newAddressLetter({ url, token }: TokenLink): Letter {
  return {
    subject: 'Confirm your new e-mail address for Grove',
    paragraphs: [
      'Somebody asked to use this e-mail address for an account on Grove. Confirm that it is yours.',
      'The link works once, within one day. Until then the account keeps its former address.',
    ],
    link: { label: 'Use this address', url },
    code: token,
    otherwise: 'If it was not you, ignore this mail: nothing has changed.',
  }
}

/** @param changedAt ISO 8601 */
export function addressChangedLetter({ url, token }: TokenLink, changedAt: string): Letter {
  return {
    subject: 'The e-mail address of your Grove account was changed',
    paragraphs: [
      `On ${dayOf(changedAt)} your account on Grove got another e-mail address. This address no longer signs in.`,
      'If it was not you, somebody else may use your account. Undo the change within seven days.',
      'This address then comes back. The password, all sessions, tokens, connections and linked services end, and a mail lets you set a new password.',
    ],
    link: { label: 'Undo the change', url },
    code: token,
    otherwise: 'If it was you, ignore this mail.',
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
