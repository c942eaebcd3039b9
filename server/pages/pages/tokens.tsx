/** The personal access tokens of the signed-in user. */

import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Page, PageContext, PageResult } from '../page-context.ts'
import { When } from '../parts/dates.tsx'
import { Field, field, showFormErrors, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { MeTabs } from '../parts/me-tabs.tsx'

type Token = AnswerOf<'listTokens'>['tokens'][number]
type Orgs = AnswerOf<'listOrgs'>['orgs']

/** Organisations listed. */
const mostOrgs = 100
const dayMs = 86_400_000
/** The accesses of a token, in the form and in the list. */
const accesses: readonly { readonly access: Token['access']; readonly label: string; readonly may: string }[] = [
  { access: 'read', label: 'read', may: 'can read' },
  { access: 'propose', label: 'read and propose changes', may: 'can read, and propose changes to,' },
  { access: 'write', label: 'read and change', may: 'can read and change' },
]
/** Recommended for agents: users decide on what they propose. */
const recommended: Token['access'] = 'propose'
/** Lifetimes of a token in days. */
const lifetimes = [30, 90, 365] as const

export function showTokens(visit: PageContext): Promise<Page> {
  return tokensPage(visit)
}

export async function takeTokens(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const again = (trouble: Trouble) => tokensPage(visit, { trouble })
  switch (form.get('act')) {
    case 'create':
      try {
        const made = await api.createToken({ body: wanted(form) })
        return await tokensPage(visit, { made, lines: await linesFor(visit, made) })
      } catch (error) {
        return showFormErrors(error, again)
      }
    case 'revoke':
      return submitForm(again, async () => {
        await api.revokeToken({ path: { token_id: field(form, 'token') } })
        return urls.me('tokens')
      })
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}

function wanted(form: URLSearchParams) {
  const days = lifetimes.find((one) => String(one) === form.get('days'))
  const [org, node] = [field(form, 'org_id').trim(), field(form, 'node_id').trim()]
  return {
    name: field(form, 'name').trim(),
    access: accesses.find(({ access }) => access === form.get('access'))?.access ?? 'read',
    ...(org && { org_id: org }),
    ...(node && { node_id: node }),
    ...(days && { expires_at: new Date(Date.now() + days * dayMs).toISOString() }),
  }
}

type Made = AnswerOf<'createToken'>

/** Returns commands to try the token, for its own node or another one. */
async function linesFor({ api, urls }: PageContext, { token, org_id, node_id }: Made): Promise<string[]> {
  const org = org_id ?? (await api.listOrgs({ query: { limit: 1 } })).orgs[0]?.id
  const node = node_id ?? (org && (await api.listNodes({ path: { org_id: org }, query: { limit: 1 } })).nodes[0]?.id)
  const header = `Authorization: Bearer ${token}`
  const model = `claude mcp add --transport http grove ${urls.base}/mcp --header "${header}"`
  if (!org || !node) return [`curl -H "${header}" ${urls.base}/orgs`, model]
  const { clone_url } = await api.getNode({ path: { org_id: org, node_id: node } })
  return [
    `git -c http.extraHeader="${header}" clone ${clone_url}`,
    `curl -H "${header}" ${urls.base}/orgs/${org}/nodes/${node}`,
    model,
  ]
}

interface More {
  readonly trouble?: Trouble
  readonly made?: Made
  readonly lines?: readonly string[]
}

async function tokensPage(visit: PageContext, { trouble, made, lines = [] }: More = {}): Promise<Page> {
  const { api, urls, form, query } = visit
  const [{ tokens }, { orgs }] = await Promise.all([
    api.listTokens({ query: { limit: limits.tokens } }),
    api.listOrgs({ query: { limit: mostOrgs } }),
  ])
  // After a token is created, the form is empty.
  const typed = made ? new URLSearchParams() : form.has('act') ? form : query
  const action = urls.me('tokens')
  return {
    ...{ kind: 'page', place: { crumb: 'Tokens' }, facts: { tokens, orgs, trouble, made: made?.id } },
    head: { title: 'Tokens · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
        <h1>Tokens</h1>
        <MeTabs urls={urls} here="tokens" hasServices={visit.oidc.services.length > 0} />
        <p class="why">Use a token instead of your password with Git and other programs.</p>
        {made && (
          <section class="made" aria-label="New token">
            <h2>{made.name}</h2>
            <p>Copy the token now. It is shown only once.</p>
            <p class="copy" data-token>
              {made.token}
            </p>
            {lines.map((line) => (
              <p class="copy">{line}</p>
            ))}
          </section>
        )}
        <TroubleOf trouble={trouble} fields={['name', 'org_id', 'node_id']} />
        {tokens.length === 0 ? (
          <p>You have no tokens yet.</p>
        ) : (
          <TokenList tokens={tokens} orgs={orgs} action={action} />
        )}
        <section>
          <h2>Create a token</h2>
          <TokenForm typed={typed} orgs={orgs} action={action} trouble={trouble} />
        </section>
      </main>
    ),
  }
}

function TokenList({ tokens, orgs, action }: { tokens: readonly Token[]; orgs: Orgs; action: string }) {
  const reach = ({ org_id, node_id }: Token) => {
    if (org_id === undefined) return 'all your organisations'
    const org = orgs.find(({ id }) => id === org_id)?.name ?? org_id
    return node_id === undefined ? org : `node ${node_id} in ${org}`
  }
  return (
    <ul class="rows">
      {tokens.map((token) => (
        <li>
          <div>
            <strong>{token.name}</strong> <span class="ref">…{token.hint}</span>
            <small>
              {accesses.find(({ access }) => access === token.access)?.may} {reach(token)} ·{' '}
              {token.expires_at ? (
                <>
                  {Date.parse(token.expires_at) < Date.now() ? 'expired' : 'expires'} <When time={token.expires_at} />
                </>
              ) : (
                'never expires'
              )}{' '}
              ·{' '}
              {token.last_used_at ? (
                <>
                  last used <When time={token.last_used_at} />
                </>
              ) : (
                'never used'
              )}
            </small>
          </div>
          <details>
            <summary class="btn" aria-label={`Revoke ${token.name}…`}>
              Revoke…
            </summary>
            <form method="post" action={action} class="ask">
              <p>Anything that uses this token loses access immediately.</p>
              <input type="hidden" name="token" value={token.id} />
              <button type="submit" class="btn stop" name="act" value="revoke">
                Revoke {token.name}
              </button>
            </form>
          </details>
        </li>
      ))}
    </ul>
  )
}

interface TokenFormProps {
  readonly typed: URLSearchParams
  readonly orgs: Orgs
  readonly action: string
  readonly trouble: Trouble | undefined
}

function TokenForm({ typed, orgs, action, trouble }: TokenFormProps) {
  return (
    <form method="post" action={action} class="fields">
      <input type="hidden" name="act" value="create" />
      <Field label="Name" hint="the device or program that uses it" name="name" trouble={trouble}>
        {(tied) => (
          <input {...tied} required maxLength={limits.displayName} value={field(typed, 'name')} autocomplete="off" />
        )}
      </Field>
      <Field
        label="Access"
        hint="for an agent: read and propose changes. It changes only branches below agent/, and users merge its proposals"
        name="access"
      >
        {(tied) => (
          <select {...tied}>
            {accesses.map(({ access, label }) => (
              <option value={access} selected={access === (typed.get('access') ?? recommended)}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Organisation" name="org_id" trouble={trouble}>
        {(tied) => (
          <select {...tied}>
            <option value="">all your organisations</option>
            {orgs.map(({ id, name }) => (
              <option value={id} selected={id === typed.get('org_id')}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Node"
        hint="optional: the id of the only page that the token can use"
        name="node_id"
        trouble={trouble}
      >
        {(tied) => <input {...tied} maxLength={64} value={field(typed, 'node_id')} autocomplete="off" />}
      </Field>
      <Field label="Expires" name="days">
        {(tied) => (
          <select {...tied}>
            {lifetimes.map((days) => (
              <option value={days} selected={String(days) === (typed.get('days') ?? '90')}>
                in {days} days
              </option>
            ))}
            <option value="never" selected={typed.get('days') === 'never'}>
              never
            </option>
          </select>
        )}
      </Field>
      <button class="btn go" type="submit">
        Create token
      </button>
    </form>
  )
}
