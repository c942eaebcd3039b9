/** The page on which a user allows a program to act for them, or refuses. It has no script. */

import { AppError } from '../../../base/errors.ts'
import type { AskedConsent } from '../../../http/consents.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { noPageError, type Page, type PageContext, type PageResult, redirect } from '../../../pages/page-context.ts'
import { When } from '../../../pages/parts/dates.tsx'
import { Field, field, showFormErrors, type Trouble, TroubleOf } from '../../../pages/parts/forms.tsx'

type Orgs = AnswerOf<'listOrgs'>['orgs']
type Access = AskedConsent['access']

/** Maximum organisations listed. */
const most = 100

const levels = ['read', 'propose', 'write'] as const

const accessWords: Readonly<Record<Access, string>> = {
  read: 'read',
  propose: 'read, and propose changes for review',
  write: 'read and change everything that you can',
}

export async function showConsent(visit: PageContext): Promise<PageResult> {
  requireOn(visit)
  if (visit.person === undefined) return redirect(303, visit.urls.signIn(visit.here))
  const judged = await visit.consents.judge(visit.query)
  return judged.kind === 'asked' ? consentPage(visit, judged) : wrongPage(judged)
}

export async function takeConsent(visit: PageContext): Promise<PageResult> {
  requireOn(visit)
  const { form, consents } = visit
  if (visit.person === undefined) throw new AppError('forbidden', 'Your session has ended; go back and sign in again')
  const judged = await consents.judge(form)
  if (judged.kind !== 'asked') return wrongPage(judged)
  switch (form.get('act')) {
    case 'deny':
      return movingPage(judged.denied, 'Refused', 'The program was not connected.')
    case 'allow':
      try {
        return movingPage(await judged.allow(wanted(form)), 'Connected', `“${judged.name}” is connected.`)
      } catch (error) {
        return showFormErrors(error, (trouble) => consentPage(visit, judged, trouble))
      }
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}

/** @throws AppError not_found */
function requireOn({ consents }: PageContext): void {
  if (!consents.areOn) throw noPageError()
}

function wanted(form: URLSearchParams) {
  const [org, node] = [field(form, 'org_id').trim(), field(form, 'node_id').trim()]
  return {
    access: levels.find((one) => one === form.get('access')) ?? 'read',
    ...(org && { org_id: org }),
    ...(node && { node_id: node }),
  }
}

async function consentPage(visit: PageContext, asked: AskedConsent, trouble?: Trouble): Promise<Page> {
  const { api, urls, form, person } = visit
  const { orgs } = await api.listOrgs({ query: { limit: most } })
  return {
    ...{ kind: 'page', place: {}, facts: { asked, orgs, trouble } },
    head: { title: 'Connect a program · Grove', noIndex: true, hasNoScript: true },
    body: () => (
      <main id="main" class="sheet">
        <Program asked={asked} />
        <TroubleOf trouble={trouble} fields={['org_id', 'node_id']} />
        <form method="post" action={`${urls.root}/oauth/authorize`} class="fields">
          {asked.fields.map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <AccessField asked={asked} chosen={form.get('access')} />
          <ReachFields orgs={orgs} form={form} trouble={trouble} />
          <p class="why">
            The program acts as {person?.name}. Commits that it writes name it in their messages, and everyone who can
            read the page sees that. You can end the connection at any time in{' '}
            <a href={urls.me('connections')}>your account</a>.
          </p>
          <p class="acts">
            <button class="btn go" type="submit" name="act" value="allow">
              Allow
            </button>{' '}
            <button class="btn" type="submit" name="act" value="deny">
              Deny
            </button>
          </p>
        </form>
      </main>
    ),
  }
}

/** The host is large, because anybody can choose the name. */
function Program({ asked: { name, host, destination, lastConnected, resource } }: { readonly asked: AskedConsent }) {
  const computer = 'a program on this computer'
  return (
    <>
      <h1>{host ?? (destination.isLoopback ? 'A program on this computer' : destination.host)}</h1>
      <p>
        {host === undefined ? 'It calls itself ' : 'Its name is '}
        <bdi>“{name}”</bdi>. {host === undefined && 'Grove cannot tell which program it is. '}
        It wants to use {resource === 'mcp' ? 'Grove as a tool for AI assistants' : 'the API of Grove, and Git,'} in
        your name.
      </p>
      <p class="why">
        The answer goes to {destination.isLoopback ? computer : <strong>{destination.host}</strong>}.{' '}
        {lastConnected === undefined ? (
          'You have not connected this program before.'
        ) : (
          <>
            You have connected this program before, last <When time={lastConnected} />.
          </>
        )}
      </p>
    </>
  )
}

interface AccessProps {
  readonly asked: AskedConsent
  readonly chosen: string | null
}

/** The levels up to the one that the program asks for. */
function AccessField({ asked: { access }, chosen }: AccessProps) {
  const offered = levels.slice(0, levels.indexOf(access) + 1)
  return (
    <Field label="It may" name="access">
      {(tied) => (
        <select {...tied}>
          {offered.map((level) => (
            <option value={level} selected={level === (chosen ?? access)}>
              {accessWords[level]}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface ReachProps {
  readonly orgs: Orgs
  readonly form: URLSearchParams
  readonly trouble: Trouble | undefined
}

function ReachFields({ orgs, form, trouble }: ReachProps) {
  return (
    <>
      <Field label="In" name="org_id" trouble={trouble}>
        {(tied) => (
          <select {...tied}>
            <option value="">all your organisations, also later ones</option>
            {orgs.map(({ id, name }) => (
              <option value={id} selected={id === form.get('org_id')}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Node" hint="optional: the id of the only page that it can use" name="node_id" trouble={trouble}>
        {(tied) => <input {...tied} maxLength={64} value={field(form, 'node_id')} autocomplete="off" />}
      </Field>
    </>
  )
}

/**
 * Moves on to the program. It is a page, because browsers hold `form-action` against every redirect after a form, also
 * against those of the program.
 */
function movingPage(address: string, title: string, says: string): Page {
  return {
    ...{ kind: 'page', place: {}, facts: { address } },
    head: { title: `${title} · Grove`, noIndex: true, hasNoScript: true, movesTo: address },
    body: () => (
      <main id="main" class="sheet">
        <h1>{title}</h1>
        <p>
          {says} If your browser stays here, <a href={address}>return to the program</a>.
        </p>
      </main>
    ),
  }
}

interface Wrong {
  readonly detail: string
  readonly address?: string
  readonly isLoopback?: boolean
}

/** An error, with a link back to a known program. It moves on to a program on the user's computer, which waits for it. */
function wrongPage({ detail, address, isLoopback = false }: Wrong): Page {
  const movesTo = isLoopback && address !== undefined ? { movesTo: address } : {}
  return {
    ...{ kind: 'page', status: 400, place: {}, facts: { detail, address } },
    head: { title: 'The program cannot be connected · Grove', noIndex: true, hasNoScript: true, ...movesTo },
    body: () => (
      <main id="main" class="sheet">
        <h1>The program cannot be connected</h1>
        <p>{detail}. Tell this to the makers of the program.</p>
        {address !== undefined && (
          <p>
            <a href={address}>Return to the program</a>
          </p>
        )}
      </main>
    ),
  }
}
