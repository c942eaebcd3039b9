/** Confirms an e-mail address, or undoes its change, with the code of a mail. The forms work without script. */

import { AppError } from '../../base/errors.ts'
import type { Page, PageContext, PageResult } from '../page-context.ts'
import { Field, field, showFormErrors, type Trouble, TroubleOf } from '../parts/forms.tsx'

/** Maximum characters of a pasted link. */
const mostToken = 4096

/** The purpose of the code. */
type Purpose = 'verify' | 'undo'

const words = {
  verify: { title: 'Confirm your e-mail address', button: 'Confirm', before: undefined },
  undo: {
    title: 'Undo the change of your e-mail address',
    button: 'Undo the change',
    before:
      'Your account gets its former address back. The password, all sessions, tokens, connections and linked services end. A mail then lets you set a new password.',
  },
} as const

export async function showVerify(visit: PageContext): Promise<Page> {
  return codePage(visit, 'verify', {})
}

export function takeVerify(visit: PageContext): Promise<PageResult> {
  return takeCode(visit, 'verify', async (token) => {
    const { email } = await visit.api.verifyEmail({ body: { token } })
    return `${email} is confirmed.`
  })
}

export async function showUndoEmail(visit: PageContext): Promise<Page> {
  return codePage(visit, 'undo', {})
}

export function takeUndoEmail(visit: PageContext): Promise<PageResult> {
  return takeCode(visit, 'undo', async (token) => {
    const { email } = await visit.api.undoEmailChange({ body: { token } })
    return `Your e-mail address is ${email} again. A mail with a link for a new password is on its way to it.`
  })
}

/** Uses the token in the pasted text, and shows the result. The text may be the link. */
async function takeCode(
  visit: PageContext,
  purpose: Purpose,
  act: (token: string) => Promise<string>,
): Promise<PageResult> {
  const sent = field(visit.form, 'token').trim()
  const token = sent.match(/grv_(?:verify|undo)_[\w-]+/)?.[0] ?? sent
  try {
    return codePage(visit, purpose, { done: await act(token) })
  } catch (error) {
    if (error instanceof AppError && (error.code === 'invalid_token' || error.code === 'email_taken'))
      return { ...codePage(visit, purpose, { trouble: { says: `${error.message}.`, field: 'token' } }), status: 403 }
    return showFormErrors(error, async (trouble) => codePage(visit, purpose, { trouble }))
  }
}

interface State {
  readonly trouble?: Trouble
  /** The sentence after a success. */
  readonly done?: string
}

function codePage({ urls, form, person }: PageContext, purpose: Purpose, { trouble, done }: State): Page {
  const { title, button, before } = words[purpose]
  return {
    ...{ kind: 'page', place: {}, facts: { purpose, trouble, done } },
    head: { title: `${title} · Grove`, noIndex: true },
    body: () => (
      <main id="main" class="sheet">
        <h1>{title}</h1>
        {done === undefined ? (
          <>
            {before !== undefined && <p>{before}</p>}
            <TroubleOf trouble={trouble} fields={['token']} />
            <form
              method="post"
              action={purpose === 'verify' ? urls.verify() : urls.undoEmail()}
              class="fields"
              data-invited
            >
              <div class="field" data-by-hand>
                <p class="notice without-script">
                  If a link led you here, copy the whole link from the address bar of your browser, and paste it here.
                </p>
                <Field
                  label="Code"
                  hint={`the whole link, or the code (grv_${purpose}_…)`}
                  name="token"
                  trouble={trouble}
                >
                  {(tied) => (
                    <input {...tied} required autocomplete="off" maxLength={mostToken} value={field(form, 'token')} />
                  )}
                </Field>
              </div>
              <button class="btn go" type="submit">
                {button}
              </button>
            </form>
          </>
        ) : (
          <>
            <p class="notice" role="status">
              {done}
            </p>
            <p class="acts">
              <a class="btn go" href={person === undefined || purpose === 'undo' ? urls.signIn() : urls.home()}>
                {person === undefined || purpose === 'undo' ? 'Sign in' : 'Home'}
              </a>
            </p>
          </>
        )}
      </main>
    ),
  }
}
