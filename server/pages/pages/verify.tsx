/** Confirms an e-mail address with the code of a mail. The form works without script. */

import { AppError } from '../../base/errors.ts'
import type { Page, PageContext, PageResult } from '../page-context.ts'
import { Field, field, showFormErrors, type Trouble, TroubleOf } from '../parts/forms.tsx'

/** Maximum characters of a pasted link. */
const mostToken = 4096

export async function showVerify(visit: PageContext): Promise<Page> {
  return verifyPage(visit, {})
}

export async function takeVerify(visit: PageContext): Promise<PageResult> {
  const sent = field(visit.form, 'token').trim()
  const token = sent.match(/grv_verify_[\w-]+/)?.[0] ?? sent
  try {
    const { email } = await visit.api.verifyEmail({ body: { token } })
    return verifyPage(visit, { email })
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_token')
      return { ...verifyPage(visit, { trouble: { says: `${error.message}.`, field: 'token' } }), status: 403 }
    return showFormErrors(error, async (trouble) => verifyPage(visit, { trouble }))
  }
}

interface State {
  readonly trouble?: Trouble
  /** The address that was just confirmed. */
  readonly email?: string
}

function verifyPage({ urls, form, person }: PageContext, { trouble, email }: State): Page {
  return {
    ...{ kind: 'page', place: {}, facts: { trouble, email } },
    head: { title: 'Confirm your e-mail address · Grove', noIndex: true },
    body: () => (
      <main id="main" class="sheet">
        <h1>Confirm your e-mail address</h1>
        {email === undefined ? (
          <>
            <TroubleOf trouble={trouble} fields={['token']} />
            <form method="post" action={urls.verify()} class="fields" data-invited>
              <div class="field" data-by-hand>
                <p class="notice without-script">
                  If a link led you here, copy the whole link from the address bar of your browser, and paste it here.
                </p>
                <Field label="Code" hint="the whole link, or the code (grv_verify_…)" name="token" trouble={trouble}>
                  {(tied) => (
                    <input {...tied} required autocomplete="off" maxLength={mostToken} value={field(form, 'token')} />
                  )}
                </Field>
              </div>
              <button class="btn go" type="submit">
                Confirm
              </button>
            </form>
          </>
        ) : (
          <>
            <p class="notice" role="status">
              {email} is confirmed.
            </p>
            <p class="acts">
              <a class="btn go" href={person === undefined ? urls.signIn() : urls.home()}>
                {person === undefined ? 'Sign in' : 'Home'}
              </a>
            </p>
          </>
        )}
      </main>
    ),
  }
}
