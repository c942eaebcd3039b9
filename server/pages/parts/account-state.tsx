/** The state of an account in a few words, for administrators. */

import type { AnswerOf } from '../../http/in-process.ts'
import { When } from './dates.tsx'

export type Account = AnswerOf<'getAccount'>

/** Marks of an administrator and of a disabled account. */
export function AccountMarks({ account: { is_admin, disabled_at } }: { readonly account: Account }) {
  return (
    <>
      {is_admin && <span class="account-mark">Administrator</span>}
      {disabled_at !== undefined && <span class="account-mark off">Disabled</span>}
    </>
  )
}

export function LastSeen({ account: { last_seen_at } }: { readonly account: Account }) {
  return last_seen_at === undefined ? (
    <>never signed in</>
  ) : (
    <>
      last seen <When time={last_seen_at} />
    </>
  )
}
