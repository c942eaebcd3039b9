/** The ways to begin in an organisation without pages, and the greeting of new members. */

import type { AnswerOf } from '../../http/in-process.ts'
import { Icon } from '../parts/icons.tsx'
import { mayWrite } from '../parts/rights.ts'
import { aRole, type Role } from '../parts/roles.tsx'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>

/** Offers ways to begin to members who may create pages. */
export function EmptyOrg({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  if (!mayWrite(org.role)) return <p class="lede">Nothing here yet.</p>
  return (
    <>
      <p class="lede">
        A page has a title and a text. It can link to other pages, be placed under one, and keeps its own history.
      </p>
      <ul class="begin">
        <li class="card">
          <h2>Write the first page</h2>
          <p>Give it a title and a few words. You can change both at any time.</p>
          <a class="btn go" href={urls.newNode(org.id)} data-key="n">
            <Icon name="pen" size={15} />
            Write the first page
          </a>
        </li>
        <li class="card">
          <h2>Bring your notes</h2>
          <p>Import a folder of Markdown, an Obsidian vault or a .zip file, with its links and pictures.</p>
          <a class="btn" href={urls.import(org.id)}>
            <Icon name="file" size={15} />
            Import notes
          </a>
        </li>
        <li class="card">
          <h2>Look around an example</h2>
          <p>Six short pages about Grove itself. Change them, or delete them later.</p>
          <form method="post" action={urls.example(org.id)}>
            <button class="btn" type="submit">
              <Icon name="leaf" size={15} />
              Create the example
            </button>
          </form>
        </li>
      </ul>
    </>
  )
}

/** The first step of a member, by role. */
const firstSteps: Readonly<Record<Role, string>> = {
  reader: 'Choose a page in the contents, or search for one.',
  contributor: 'Open a page and propose a change. An editor accepts it.',
  editor: 'Open a page and press Edit, or write a new page.',
  maintainer: 'Look at the open proposals, or open a page and press Edit.',
  owner: 'Open a page and press Edit, or invite people under Members.',
}

/** Says what a member who has just joined is here, and what to do first. */
export function JoinedNotice({ org, isEmpty }: { readonly org: Org; readonly isEmpty: boolean }) {
  const { role, published } = org
  if (role === undefined) return null
  const isReader = !mayWrite(role)
  const first = isEmpty
    ? isReader
      ? 'Come back when there is something to read.'
      : 'Begin with one of these three.'
    : firstSteps[role]
  const whose =
    role === 'owner' && isEmpty && !published
      ? 'This is your own organisation, which only its members can read.'
      : `You are ${aRole(role)} here.`
  return (
    <p class="notice" role="status">
      {whose} {first}
    </p>
  )
}
