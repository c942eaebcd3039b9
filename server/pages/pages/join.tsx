/** The page of an invitation link. It leads to sign-up, to sign-in, or directly into the organisation. */

import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { Field, field, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { invitationIn, mostInvitation } from './invitations.tsx'
import { signInPage, signUpPage } from './sign-in.tsx'

/** Shows the page. The token is in the URL's fragment, so that no log has it. A script or the user copies it. */
export async function showJoin(visit: PageContext): Promise<Page> {
  const { query, person } = visit
  const isRefused = person !== undefined && query.has('refused')
  return joinPage(visit, isRefused ? { says: 'You are signed in, but that invitation cannot be used.' } : undefined)
}

/** Redirects from the former path of the page. */
export async function leadToJoin({ urls }: PageContext): Promise<PageResult> {
  return redirect(301, urls.join())
}

export async function takeJoin(visit: PageContext): Promise<PageResult> {
  const { api, form, person, urls } = visit
  const token = invitationIn(form)
  if (token === '') return { ...(await joinPage(visit, noInvitation)), status: 422 }
  if (person !== undefined) {
    return submitForm(
      (trouble) => joinPage(visit, trouble.field === 'token' ? { ...trouble, field: 'invitation' } : trouble),
      async () => {
        const { id, name } = await api.acceptInvitation({ body: { token } })
        return urls.welcome(id, name)
      },
    )
  }
  return form.get('act') === 'sign-up' ? signUpPage(visit, (await api.getAuthConfig({})).signup) : signInPage(visit)
}

const noInvitation: Trouble = { field: 'invitation', says: 'Paste the link of your invitation.' }

async function joinPage({ api, person, form, urls, oidc }: PageContext, trouble?: Trouble): Promise<Page> {
  const { signup } = await api.getAuthConfig({})
  // Through a service, users may get an account although sign-up is closed.
  const services = oidc.services.map(({ name }) => name).join(' or ')
  const account = signup === 'closed' ? 'your existing account' : 'a new or an existing account'
  return {
    ...{ kind: 'page', place: {}, facts: { trouble, signup }, head: { title: 'Invitation · Grove', noIndex: true } },
    body: () => (
      <main id="main" class="sheet">
        <h1>Join by invitation</h1>
        <p class="lede" data-invites>
          {person === undefined
            ? `You have been invited to Grove. Join with ${account}${services === '' ? '' : `, or through ${services}`}.`
            : `You are signed in as ${person.name}. Join the organisation that invited you.`}
        </p>
        <TroubleOf trouble={trouble} fields={['invitation']} />
        <form method="post" action={urls.join()} class="fields" data-invited>
          <div class="field" data-by-hand>
            <p class="notice without-script">
              Copy the whole link from the address bar of your browser, and paste it here.
            </p>
            <Field
              label="Invitation"
              hint="the whole link, or the token (grv_invite_…)"
              name="invitation"
              trouble={trouble}
            >
              {(tied) => (
                <input
                  {...tied}
                  required
                  autocomplete="off"
                  maxLength={mostInvitation}
                  value={field(form, 'invitation')}
                />
              )}
            </Field>
          </div>
          {person === undefined && signup !== 'closed' && (
            <button class="btn go" type="submit" name="act" value="sign-up">
              Create an account
            </button>
          )}
          {person === undefined && (
            <button class="btn" type="submit" name="act" value="sign-in">
              {services === '' ? 'Use an existing account' : `Use an existing account or ${services}`}
            </button>
          )}
          {person !== undefined && (
            <button class="btn go" type="submit">
              Join
            </button>
          )}
        </form>
      </main>
    ),
  }
}
