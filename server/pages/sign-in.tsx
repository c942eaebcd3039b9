/** The forms that open and end the session of a browser: sign in, sign up, a new password, sign out. They need no script. */

import type { ComponentChildren } from 'preact'
import { Invalid, Refusal } from '../errors.ts'
import { ownPath } from './urls.ts'
import { type Page, redirect, type Shown, type Visit } from './visit.ts'

/** Characters of what a form's fields hold. */
const most = { email: 254, password: 256, name: 200, token: 4096 } as const

export async function showSignIn(visit: Visit): Promise<Page> {
  return signInPage(visit)
}

export async function takeSignIn(visit: Visit): Promise<Shown> {
  const { api, form, urls } = visit
  return opened(
    visit,
    (problem) => signInPage(visit, problem),
    async () => {
      const body = { email: field(form, 'email'), password: field(form, 'password') }
      await visit.signIn((await api.logIn({ body })).accessToken)
      return ownPath(urls, form.get('next'))
    },
  )
}

export async function showSignUp(visit: Visit): Promise<Page> {
  const { signup } = await visit.api.getAuthConfig({})
  return signUpPage(visit, signup)
}

export async function takeSignUp(visit: Visit): Promise<Shown> {
  const { api, form, urls } = visit
  const { signup } = await api.getAuthConfig({})
  return opened(
    visit,
    (problem) => signUpPage(visit, signup, problem),
    async () => {
      const optional = Object.fromEntries(['name', 'invitation'].map((name) => [name, field(form, name).trim()]))
      const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== ''))
      const body = { email: field(form, 'email'), password: field(form, 'password'), ...given }
      await visit.signIn((await api.signUp({ body })).accessToken)
      return ownPath(urls, form.get('next'))
    },
  )
}

export async function showReset(visit: Visit): Promise<Page> {
  return resetPage(visit)
}

export async function takeReset(visit: Visit): Promise<Shown> {
  const { api, form, urls } = visit
  return opened(
    visit,
    (problem) => resetPage(visit, problem),
    async () => {
      const body = { reset_token: field(form, 'token').trim(), new_password: field(form, 'password') }
      await visit.signIn((await api.changePassword({ body })).accessToken)
      return urls.home()
    },
  )
}

export async function takeSignOut(visit: Visit): Promise<Shown> {
  await visit.signOut()
  return redirect(303, visit.urls.home())
}

function field(form: URLSearchParams, name: string): string {
  return form.get(name) ?? ''
}

/** The form again with what is wrong, or on to where it leads. */
async function opened(visit: Visit, again: (problem: string) => Page, act: () => Promise<string>): Promise<Shown> {
  if (!visit.canSignIn) return { ...again('Signing in needs HTTPS here'), status: 403 }
  try {
    return redirect(303, await act())
  } catch (error) {
    if (error instanceof Invalid) return { ...again(sentenceOf(error)), status: 422 }
    // What is not the person's to mend is an error as elsewhere.
    if (!(error instanceof Refusal) || !mendable.has(error.code)) throw error
    return { ...again(error.message), status: error.code === 'email_taken' ? 409 : 403 }
  }
}

const mendable: ReadonlySet<string> = new Set([
  'invalid_credentials',
  'invalid_token',
  'email_taken',
  'signup_closed',
  'invitation_not_found',
  'account_disabled',
  'rate_limited',
])

function sentenceOf({ problems }: Invalid): string {
  const [first] = problems
  return first === undefined ? 'The form is not complete' : `${String(first.loc.at(-1))}: ${first.msg}`
}

function signInPage(visit: Visit, problem?: string): Page {
  const next = ownPath(visit.urls, visit.form.get('next') ?? visit.query.get('next'))
  return page('Sign in', { next, problem }, () => <SignInForm visit={visit} next={next} problem={problem} />)
}

interface SignInProps {
  readonly visit: Visit
  readonly next: string
  readonly problem?: string | undefined
}

export function SignInForm({ visit: { urls, form }, next, problem }: SignInProps) {
  return (
    <Sheet title="Sign in" problem={problem}>
      <form method="post" action={urls.signIn()} class="fields">
        <input type="hidden" name="next" value={next} />
        <Email value={field(form, 'email')} />
        <Password label="Password" autocomplete="current-password" />
        <button class="btn go" type="submit">
          Sign in
        </button>
      </form>
      <p class="why">
        No account yet? <a href={urls.signUp(next)}>Sign up</a>. Forgotten the password? The operator gives out a token
        for <a href={urls.reset()}>a new one</a>.
      </p>
    </Sheet>
  )
}

type Signup = 'open' | 'invite' | 'closed'

function signUpPage({ urls, form, query }: Visit, signup: Signup, problem?: string): Page {
  const next = ownPath(urls, form.get('next') ?? query.get('next'))
  return page('Sign up', { next, problem, signup }, () => (
    <Sheet title="Sign up" problem={problem}>
      {signup === 'closed' ? (
        <p>The operator makes the accounts here.</p>
      ) : (
        <form method="post" action={urls.signUp()} class="fields">
          <input type="hidden" name="next" value={next} />
          <Email value={field(form, 'email')} />
          <label>
            Name <small>stands as the author of what you write</small>
            <input name="name" autocomplete="name" maxLength={most.name} value={field(form, 'name')} />
          </label>
          <Password label="Password" autocomplete="new-password" />
          <label>
            Invitation {signup === 'open' && <small>if you have one</small>}
            <input
              name="invitation"
              autocomplete="off"
              required={signup === 'invite'}
              maxLength={most.token}
              value={field(form, 'invitation')}
            />
          </label>
          <button class="btn go" type="submit">
            Sign up
          </button>
        </form>
      )}
      <p class="why">
        You have an account? <a href={urls.signIn(next)}>Sign in</a>.
      </p>
    </Sheet>
  ))
}

function resetPage({ urls, form }: Visit, problem?: string): Page {
  return page('A new password', { problem }, () => (
    <Sheet title="A new password" problem={problem}>
      <form method="post" action={urls.reset()} class="fields">
        <label>
          Token <small>from the operator; works once</small>
          <input name="token" required autocomplete="off" maxLength={most.token} value={field(form, 'token')} />
        </label>
        <Password label="New password" autocomplete="new-password" />
        <button class="btn go" type="submit">
          Set the password
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
  readonly problem?: string | undefined
  readonly children: ComponentChildren
}

function Sheet({ title, problem, children }: SheetProps) {
  return (
    <main id="main" class="sheet">
      <h1>{title}</h1>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {children}
    </main>
  )
}

function Email({ value }: { readonly value: string }) {
  return (
    <label>
      E-mail
      <input type="email" name="email" required autocomplete="username" maxLength={most.email} value={value} />
    </label>
  )
}

function Password({ label, autocomplete }: { readonly label: string; readonly autocomplete: string }) {
  return (
    <label>
      {label}
      <input type="password" name="password" required autocomplete={autocomplete} maxLength={most.password} />
    </label>
  )
}
