/** The writers of all mails. Each is in the folder of its noun. */
import { writeAddressChanged, writeNewAddress } from '../domain/accounts/email-changes.ts'
import { writeVerification } from '../domain/accounts/email-proofs.ts'
import { writeInvitation } from '../domain/accounts/invitations.ts'
import { writeReset } from '../domain/accounts/password-resets.ts'
import { writeNotice } from '../domain/mail/notices.ts'
import type { Letters } from '../domain/mail/sender.ts'
import { letters as featureLetters } from './features.ts'

export const letters: Letters = {
  reset: writeReset,
  verify: writeVerification,
  new_address: writeNewAddress,
  address_changed: writeAddressChanged,
  invitation: writeInvitation,
  signed_in: writeNotice,
  connected: writeNotice,
  reused: writeNotice,
  linked: writeNotice,
  taken_over: writeNotice,
  ...featureLetters,
}
