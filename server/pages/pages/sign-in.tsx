/** Sign in, sign up, reset the password and sign out. The forms work without script. */

import type { ComponentChildren } from 'preact'
import type { Api } from '../../../spec/client/api.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { purpose } from '../../base/purpose.ts'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { EmailField, Field, field, Password, showFormErrors, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { oidcPath } from '../parts/oidc-path.ts'
import { ownPath, type Urls } from '../urls.ts'
import { Forgot } from './forgot.tsx'
import { invitationIn, mostInvitation } from './invitations.tsx'

/** Maximum characters of the fields. */
const most = { token: 4096 } as const

export async function showSignIn(visit: PageContext): Promise<Page> {
  return signInPage(visit)
}

export async function takeSignIn(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  return opened(
    visit,
    (trouble) => signInPage(visit, trouble),
    async () => {
      const body = { email: field(form, 'email'), password: field(form, 'password') }
      const signedIn = await visit.signIn((await api.logIn({ body })).accessToken)
      const token = invitationIn(form)
      return token === '' ? ownPath(urls, form.get('next')) : joined(visit, signedIn.api, token)
    },
  )
}

export async function showSignUp(visit: PageContext): Promise<Page> {
  const { signup } = await visit.api.getAuthConfig({})
  return signUpPage(visit, signup)
}

export async function takeSignUp(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const { signup } = await api.getAuthConfig({})
  return opened(
    visit,
    (trouble) => signUpPage(visit, signup, trouble),
    async () => {
      const optional = { name: field(form, 'name').trim(), invitation: invitationIn(form) }
      const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== ''))
      const body = { email: field(form, 'email'), password: field(form, 'password'), ...given }
      const { accessToken, user } = await api.signUp({ body })
      await visit.signIn(accessToken)
      const invited = user.orgs?.find(({ id }) => id !== user.org_id)
      for (const { id, name } of user.orgs ?? []) urls.learn(id, name)
      const next = ownPath(urls, form.get('next'))
      return invited === undefined && next !== urls.home() ? next : urls.welcome(invited?.id ?? user.org_id)
    },
  )
}

/** Accepts the invitation and returns the URL of its organisation. If it is refused, returns the join page's URL. */
export async function joined({ urls }: Pick<PageContext, 'urls'>, signedIn: Api, token: string): Promise<string> {
  try {
    const { id, name } = await signedIn.acceptInvitation({ body: { token } })
    return urls.welcome(id, name)
  } catch (error) {
    if (error instanceof ValidationError || (error instanceof AppError && error.code === 'invitation_not_found'))
      return `${urls.join()}?refused`
    throw error
  }
}

export async function showReset(visit: PageContext): Promise<Page> {
  return resetPage(visit)
}

export async function takeReset(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  return opened(
    visit,
    (trouble) => resetPage(visit, trouble),
    async () => {
      const body = { reset_token: resetTokenIn(form), new_password: field(form, 'new_password') }
      await visit.signIn((await api.changePassword({ body })).accessToken)
      return urls.home()
    },
  )
}

/** Returns the token in the pasted text, which may be the token or the link. */
function resetTokenIn(form: URLSearchParams): string {
  const sent = field(form, 'reset_token').trim()
  return sent.match(/grv_reset_[\w-]+/)?.[0] ?? sent
}

export async function takeSignOut(visit: PageContext): Promise<PageResult> {
  const farewell = await visit.oidc.farewell()
  await visit.signOut()
  return farewell === undefined
    ? redirect(303, ownPath(visit.urls, visit.form.get('next')))
    : signedOutPage(visit, farewell)
}

interface Farewell {
  readonly name: string
  readonly url: string
}

/** Otherwise the next user of this computer signs in there without a password. */
function signedOutPage({ urls }: PageContext, { name, url }: Farewell): Page {
  return {
    ...page('Signed out', { name, url }, () => (
      <Sheet title="You are signed out" fields={[]}>
        <p>You are signed out here, but perhaps not at {name}.</p>
        <p class="acts">
          <a class="btn go" href={url}>
            Also sign out of {name}
          </a>{' '}
          <a class="btn" href={urls.home()}>
            Home
          </a>
        </p>
      </Sheet>
    )),
    isSignedOut: true,
  }
}

/** Runs `act` and redirects to its result, or shows the form again with the error. */
async function opened(
  visit: PageContext,
  again: (trouble: Trouble) => Page,
  act: () => Promise<string>,
): Promise<PageResult> {
  if (!visit.canSignIn) return { ...again({ says: 'You can sign in here only over HTTPS.' }), status: 403 }
  try {
    return redirect(303, await act())
  } catch (error) {
    return showFormErrors(error, (trouble) => Promise.resolve(again(trouble)))
  }
}

export function signInPage(visit: PageContext, trouble?: Trouble): Page {
  const next = ownPath(visit.urls, visit.form.get('next') ?? visit.query.get('next'))
  return page('Sign in', { next, trouble, services: visit.oidc.services }, () => (
    <SignInForm visit={visit} next={next} trouble={trouble} />
  ))
}

interface SignInProps {
  readonly visit: PageContext
  readonly next: string
  readonly trouble?: Trouble | undefined
}

export function SignInForm({ visit, next, trouble }: SignInProps) {
  const { urls, form, oidc, sendsMail } = visit
  const invitation = invitationIn(form)
  if (!oidc.hasPasswords)
    return (
      <Sheet title="Sign in" trouble={trouble} fields={[]}>
        <ServiceLinks visit={visit} next={next} invitation={invitation} />
      </Sheet>
    )
  return (
    <Sheet title="Sign in" trouble={trouble} fields={['email', 'password']}>
      <ServiceLinks visit={visit} next={next} invitation={invitation} />
      <form method="post" action={urls.signIn()} class="fields">
        <input type="hidden" name="next" value={next} />
        {invitation !== '' && <input type="hidden" name="invitation" value={invitation} />}
        {invitation !== '' && <p class="notice">{goesAlong}</p>}
        <EmailField value={field(form, 'email')} trouble={trouble} />
        <Password label="Password" name="password" autocomplete="current-password" trouble={trouble} />
        <button class="btn go" type="submit">
          Sign in
        </button>
      </form>
      <p class="why">
        {invitation === '' && (
          <>
            No account yet? <a href={urls.signUp(next)}>Sign up</a>.{' '}
          </>
        )}
        <Forgot urls={urls} sendsMail={sendsMail} />
      </p>
      {invitation !== '' && (
        <OtherWay urls={urls} invitation={invitation} act="sign-up" says="No account yet?" label="Create one" />
      )}
    </Sheet>
  )
}

interface ServiceLinksProps {
  readonly visit: Pick<PageContext, 'urls' | 'oidc'>
  readonly next: string
  readonly invitation: string
}

/** Links, because the policy of the page lets no form lead to another host. */
function ServiceLinks({ visit: { urls, oidc }, next, invitation }: ServiceLinksProps) {
  const fields = { next, ...(invitation === '' ? {} : { invitation }) }
  if (oidc.services.length === 0) return null
  return (
    <p class="services">
      {oidc.services.map(({ id, name }) => (
        <a class="btn" href={oidcPath(urls, id, fields)}>
          Sign in with {name}
        </a>
      ))}
    </p>
  )
}

const goesAlong = 'Your invitation will be used when you continue.'
const signUpFields = ['email', 'name', 'password', 'invitation']

type Signup = 'open' | 'invite' | 'closed'

export function signUpPage(visit: PageContext, signup: Signup, trouble?: Trouble): Page {
  const { urls, form, query, oidc } = visit
  const next = ownPath(urls, form.get('next') ?? query.get('next'))
  const invitation = invitationIn(form)
  const isGiven = invitation !== '' && trouble?.field !== 'invitation'
  return page('Sign up', { next, trouble, signup, services: oidc.services }, () => (
    <Sheet title="Sign up" trouble={trouble} fields={signup === 'closed' || !oidc.hasPasswords ? [] : signUpFields}>
      <p class="lede">Grove is the {purpose.is}.</p>
      <ServiceLinks visit={visit} next={next} invitation={invitation} />
      {!oidc.hasPasswords ? null : signup === 'closed' ? (
        <p>Sign-up is closed. Ask the operator for an account.</p>
      ) : (
        <form method="post" action={urls.signUp()} class="fields">
          <input type="hidden" name="next" value={next} />
          {isGiven && <p class="notice">{goesAlong}</p>}
          <EmailField value={field(form, 'email')} trouble={trouble} />
          <Field label="Name" hint="shown as the author of your changes" name="name" trouble={trouble}>
            {(tied) => (
              <input {...tied} autocomplete="name" maxLength={limits.displayName} value={field(form, 'name')} />
            )}
          </Field>
          <Password label="Password" name="password" autocomplete="new-password" trouble={trouble} />
          {isGiven ? (
            <input type="hidden" name="invitation" value={invitation} />
          ) : (
            <Field
              label="Invitation"
              hint={signup === 'open' ? 'the link, if you have one' : 'the whole link'}
              name="invitation"
              trouble={trouble}
            >
              {(tied) => (
                <input
                  {...tied}
                  autocomplete="off"
                  required={signup === 'invite'}
                  maxLength={mostInvitation}
                  value={field(form, 'invitation')}
                />
              )}
            </Field>
          )}
          <button class="btn go" type="submit">
            Sign up
          </button>
        </form>
      )}
      {isGiven ? (
        <OtherWay urls={urls} invitation={invitation} act="sign-in" says="Already have an account?" label="Sign in" />
      ) : (
        <p class="why">
          Already have an account? <a href={urls.signIn(next)}>Sign in</a>.
        </p>
      )}
    </Sheet>
  ))
}

interface OtherWayProps {
  readonly urls: Urls
  readonly invitation: string
  readonly act: 'sign-in' | 'sign-up'
  readonly says: string
  readonly label: string
}

/** Switches between the forms and keeps the invitation, which must not be in a URL. */
function OtherWay({ urls, invitation, act, says, label }: OtherWayProps) {
  return (
    <form method="post" action={urls.join()} class="why other-way">
      <input type="hidden" name="invitation" value={invitation} />
      {says}{' '}
      <button class="btn small" type="submit" name="act" value={act}>
        {label}
      </button>
    </form>
  )
}

function resetPage({ urls, form }: PageContext, trouble?: Trouble): Page {
  return page('Set a new password', { trouble }, () => (
    <Sheet title="Set a new password" trouble={trouble} fields={['reset_token', 'new_password']}>
      <form method="post" action={urls.reset()} class="fields" data-invited>
        <div class="field" data-by-hand>
          <p class="notice without-script">
            If a link led you here, copy the whole link from the address bar of your browser, and paste it here.
          </p>
          <Field label="Token" hint="the whole link, or the token (grv_reset_…)" name="reset_token" trouble={trouble}>
            {(tied) => (
              <input {...tied} required autocomplete="off" maxLength={most.token} value={field(form, 'reset_token')} />
            )}
          </Field>
        </div>
        <Password label="New password" name="new_password" autocomplete="new-password" trouble={trouble} />
        <button class="btn go" type="submit">
          Set password
        </button>
      </form>
    </Sheet>
  ))
}

function page(title: string, facts: unknown, body: Page['body']): Page {
  return { kind: 'page', head: { title: `${title} · Grove`, noIndex: true }, place: {}, facts, body }
}

interface SheetProps {
  readonly title: string
  readonly trouble?: Trouble | undefined
  /** Fields that show their own errors. */
  readonly fields: readonly string[]
  readonly children: ComponentChildren
}

function Sheet({ title, trouble, fields, children }: SheetProps) {
  return (
    <main id="main" class="sheet">
      <h1>{title}</h1>
      <TroubleOf trouble={trouble} fields={fields} />
      {children}
    </main>
  )
}
