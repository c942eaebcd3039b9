/** The message of a commit that applies suggestions. It names their authors as co-authors. */
import { cleanPersonName } from '../../../gitstore/names.ts'
import { findActiveProfile } from '../../../index/credentials/accounts.ts'
import type { Person } from '../actor.ts'
import { emailInGit } from '../format/hidden-emails.ts'
import { type Author, authorOf } from '../format/signatures.ts'
import { normalizeLineEnds } from '../format/text-rules.ts'
import { withTrailers } from '../format/trailers.ts'
import type { CommentRecord, EntryUser } from '../ledger/entries.ts'
import type { Services } from '../services.ts'

interface Wanted {
  /** The number of the pull request. */
  readonly number: number
  readonly message?: string
}

/** Returns the message with its trailers. `chosen` is in the order of the entries. */
export async function messageOf(
  deps: Pick<Services, 'credentials'>,
  actor: Person,
  { number, message }: Wanted,
  chosen: readonly { readonly entry: number; readonly record: CommentRecord }[],
): Promise<string> {
  const trailers = new Set<string>()
  for (const { record } of chosen) {
    if (record.by.id === actor.id) continue
    const { name, email } = await authorNow(deps, record.by)
    if (email !== actor.email) trailers.add(`Co-authored-by: ${cleanPersonName(name)} <${cleanPersonName(email)}>`)
  }
  const [one] = chosen
  const what = chosen.length === 1 && one ? `suggestion ${one.entry}` : `${chosen.length} suggestions`
  const text = normalizeLineEnds(message ?? `Apply ${what} of proposal ${number}`).trimEnd()
  return trailers.size === 0 ? text : withTrailers(text, [...trailers])
}

/** Returns the current name and e-mail address for Git. If the account is deleted, they are those of the comment. */
async function authorNow(deps: Pick<Services, 'credentials'>, by: EntryUser): Promise<Author> {
  const profile = by.id === undefined ? undefined : await findActiveProfile(deps.credentials.read, by.id)
  return profile ? { name: profile.name, email: emailInGit(profile) } : authorOf(by)
}
