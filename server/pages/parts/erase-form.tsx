/** The form with which owners erase a comment or review, and its confirmation. */
import { Hidden } from './comment-form.tsx'
import { type Conversing, viewLink } from './talk.ts'

interface EraseProps {
  readonly talk: Conversing
  readonly entry: number
  /** The kind of entry that the form erases. */
  readonly what: 'comment' | 'review'
}

/** True if the page asks the visitor to confirm the erasure of this entry. */
function isErasing({ at, visit }: Conversing, entry: number): boolean {
  return at.org.role === 'owner' && visit.query.get('erase') === String(entry)
}

/** Leads to the confirmation. Only owners see it. */
export function EraseLink({ talk, entry, what }: EraseProps) {
  const { at, visit } = talk
  if (at.org.role !== 'owner' || isErasing(talk, entry)) return null
  return (
    <a
      class="erase-link"
      aria-label={`Delete permanently: ${what} ${entry}`}
      href={viewLink(visit.query, { erase: String(entry) }, `c${entry}`)}
    >
      Delete permanently…
    </a>
  )
}

export function EraseForm({ talk, entry, what }: EraseProps) {
  const { visit } = talk
  if (!isErasing(talk, entry)) return null
  const label = `Delete this ${what} permanently`
  return (
    <form class="comment-form erase-form" method="post" action={viewLink(visit.query)} aria-label={label}>
      <Hidden fields={{ entry }} />
      <p>
        <strong>This cannot be undone.</strong> This removes the text of this {what} from the whole history, also
        earlier versions and the words that it quotes. Its place and its author stay.
      </p>
      <p>It does not reach:</p>
      <ul>
        <li>clones and mirrors of this page's repository</li>
        <li>backups that were made before</li>
        <li>unused space in the service's database, until it is used again</li>
        <li>e-mails and messages that were sent</li>
        <li>quotes by others, and texts of pages</li>
      </ul>
      <label>
        Reason, which stays in the history (optional)
        <input type="text" name="text" maxLength={500} autocomplete="off" />
      </label>
      <p class="form-acts">
        <a class="btn quiet small" href={viewLink(visit.query, {}, `c${entry}`)}>
          Cancel
        </a>
        <button class="btn stop small" type="submit" name="act" value="erase">
          {label}
        </button>
      </p>
    </form>
  )
}
