/** The state of the service, for administrators. Nothing here can be changed. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { Page, PageContext } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { sizeOf } from '../parts/file-sizes.ts'
import { Icon } from '../parts/icons.tsx'
import { AdminTabs } from '../parts/me-tabs.tsx'
import { asSentence } from '../text/broken-rules.ts'

type Status = AnswerOf<'getServiceStatus'>

const checkNames: Readonly<Record<Status['checks'][number]['name'], string>> = {
  accounts: 'Accounts',
  index: 'Index',
  repositories: 'Repositories',
  storage: 'Storage',
  jobs: 'Background jobs',
  webhooks: 'Webhooks',
  cell: 'Cell',
}

export async function showHealth({ api, urls }: PageContext): Promise<Page> {
  const status = await api.getServiceStatus({})
  const wrong = status.checks.filter(({ ok }) => !ok).length
  return {
    ...{ kind: 'page', place: { crumb: 'Administration' }, facts: status },
    head: { title: 'Health · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings admin">
        <h1>Health</h1>
        <AdminTabs urls={urls} here="health" />
        <p class="lede">
          {wrong === 0 ? 'Everything works.' : `${plural(wrong, 'check needs', 'checks need')} attention.`}
        </p>
        <Checks checks={status.checks} />
        <h2>Service</h2>
        <Service status={status} />
        <h2>Storage</h2>
        <Storage storage={status.storage} />
        <h2>Content</h2>
        <Counts counts={status.counts} />
        <h2>Requests since the start</h2>
        <Requests requests={status.requests} />
        <h2>Background jobs</h2>
        <Jobs jobs={status.jobs} />
        <h2>Backups</h2>
        <p>
          <code>grove backup</code> runs outside of the service, so this page does not know its last result. Its exit
          code and the manifest in the backup folder have it. <code>grove doctor</code> checks all repositories.
        </p>
      </main>
    ),
  }
}

function Checks({ checks }: Pick<Status, 'checks'>) {
  return (
    <ul class="rows checks" aria-label="Checks">
      {checks.map(({ name, ok, detail }) => (
        <li class={ok ? undefined : 'off'}>
          <Icon name={ok ? 'check' : 'cross'} size={18} />
          <div>
            <strong>{checkNames[name]}</strong> <span class="vh">{ok ? 'works:' : 'needs attention:'}</span>
            <small>{asSentence(detail)}</small>
          </div>
        </li>
      ))}
    </ul>
  )
}

function Service({ status }: { readonly status: Status }) {
  const { version, node_version, git_version, started_at, cell, processes } = status
  return (
    <dl class="admin-facts">
      <dt>Version</dt>
      <dd>
        Grove {version}, Node {node_version.replace(/^v/, '')}, Git {git_version}
      </dd>
      {started_at !== undefined && (
        <>
          <dt>Started</dt>
          <dd>
            <When time={started_at} /> · <When time={started_at} as="clock" />
          </dd>
        </>
      )}
      <dt>Cell</dt>
      <dd>{cell ?? 'a single service, without cells'}</dd>
      {processes.map(({ worker, started_at: since, memory_bytes }) => (
        <>
          <dt>Process {worker}</dt>
          <dd>
            {sizeOf(memory_bytes)} of memory, since <When time={since} as="clock" />
          </dd>
        </>
      ))}
    </dl>
  )
}

const databaseNames = { credentials: 'Accounts', index: 'Index' } as const

function Storage({ storage }: { readonly storage: Status['storage'] }) {
  if (storage === undefined) return <p>The sizes could not be read.</p>
  const { free_bytes, used_bytes, databases } = storage
  return (
    <dl class="admin-facts">
      <dt>Free</dt>
      <dd>
        {sizeOf(free_bytes)} of {sizeOf(free_bytes + used_bytes)} on the file system{' '}
        <meter
          aria-label="Used share of the file system"
          min={0}
          max={free_bytes + used_bytes}
          value={used_bytes}
          high={(free_bytes + used_bytes) * 0.9}
        />
      </dd>
      {databases.map(({ name, bytes, wal_bytes }) => (
        <>
          <dt>{databaseNames[name]}</dt>
          <dd>
            {sizeOf(bytes)} of database, {sizeOf(wal_bytes)} of log
          </dd>
        </>
      ))}
    </dl>
  )
}

function Counts({ counts }: { readonly counts: Status['counts'] }) {
  if (counts === undefined) return <p>A database does not respond, so nothing could be counted.</p>
  const { accounts, disabled_accounts, administrators, orgs, nodes, sessions } = counts
  const shown = (count: number) => count.toLocaleString('en')
  return (
    <dl class="admin-facts">
      <dt>Accounts</dt>
      <dd>
        {shown(accounts)}, of which {shown(disabled_accounts)} disabled and {plural(administrators, 'administrator')}
      </dd>
      {sessions !== undefined && (
        <>
          <dt>Sessions</dt>
          <dd>{shown(sessions)} open</dd>
        </>
      )}
      <dt>Organisations</dt>
      <dd>{shown(orgs)}</dd>
      <dt>Pages</dt>
      <dd>{shown(nodes)}</dd>
    </dl>
  )
}

function Requests({ requests: { total, failed, limited } }: Pick<Status, 'requests'>) {
  const share = total === 0 ? 0 : (failed / total) * 100
  return (
    <dl class="admin-facts">
      <dt>Answered</dt>
      <dd>{total.toLocaleString('en')}</dd>
      <dt>Failed</dt>
      <dd>
        {failed.toLocaleString('en')}
        {failed > 0 && ` (${share < 0.1 ? 'less than 0.1' : share.toFixed(1)} %)`}
      </dd>
      <dt>Rate limited</dt>
      <dd>{limited.toLocaleString('en')}</dd>
    </dl>
  )
}

function Jobs({ jobs }: Pick<Status, 'jobs'>) {
  if (jobs.length === 0) return <p>No job has finished since the start.</p>
  return (
    <dl class="admin-facts">
      {jobs.map(({ name, succeeded_at }) => (
        <>
          <dt>{name}</dt>
          <dd>
            last success <When time={succeeded_at} /> · <When time={succeeded_at} as="clock" />
          </dd>
        </>
      ))}
    </dl>
  )
}
