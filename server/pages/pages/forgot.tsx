/** Asks for a mail with a link to set a new password. The form works without script. */

import type { Page, PageContext, PageResult } from '../page-context.ts'
import { EmailField, field, showFormErrors, type Trouble, TroubleOf } from '../parts/forms.tsx'
import type { Urls } from '../urls.ts'

export async function showForgot(visit: PageContext): Promise<Page> {
  return forgotPage(visit, {})
}

/** The answer is the same for every address. */
export async function takeForgot(visit: PageContext): Promise<PageResult> {
  try {
    await visit.api.requestPasswordReset({ body: { email: field(visit.form, 'email').trim() } })
    return forgotPage(visit, { isSent: true })
  } catch (error) {
    return showFormErrors(error, async (trouble) => forgotPage(visit, { trouble }))
  }
}

interface State {
  readonly trouble?: Trouble
  readonly isSent?: boolean
}

function forgotPage({ urls, form, sendsMail }: PageContext, { trouble, isSent = false }: State): Page {
  return {
    ...{ kind: 'page', place: {}, facts: { trouble, isSent, sendsMail } },
    head: { title: 'Forgot your password? · Grove', noIndex: true },
    body: () => (
      <main id="main" class="sheet">
        <h1>Forgot your password?</h1>
        {isSent && sendsMail && (
          <p class="notice" role="status">
            If an account has this e-mail address, a mail is on its way. Its link works for one hour. You can also{' '}
            <a href={urls.reset()}>enter the code</a> of the mail.
          </p>
        )}
        <TroubleOf trouble={trouble} fields={['email']} />
        {sendsMail ? (
          <form method="post" action={urls.forgot()} class="fields">
            <EmailField value={field(form, 'email')} trouble={trouble} />
            <button class="btn go" type="submit">
              Send a mail
            </button>
          </form>
        ) : (
          <p>
            This service sends no mail. Ask an administrator for a link to <a href={urls.reset()}>set a new password</a>
            .
          </p>
        )}
        <p class="why">
          <a href={urls.signIn()}>Sign in</a>
        </p>
      </main>
    ),
  }
}

/** The way to a new password, for the sign-in page. */
export function Forgot({ urls, sendsMail }: { readonly urls: Urls; readonly sendsMail: boolean }) {
  if (sendsMail) return <a href={urls.forgot()}>Forgot your password?</a>
  return (
    <>
      Forgot your password? Ask an administrator for a link to <a href={urls.reset()}>set a new one</a>.
    </>
  )
}
