/** Deleting a node: what happens to its children and links, and the button. */

import { intoIn, newSet, proposePages } from '../proposing.ts'
import { plural } from './dates.tsx'
import { IntoField } from './into-field.tsx'
import { mayDelete } from './rights.ts'
import { Section, type Settings, SettingsForm } from './settings-section.tsx'

/** Subpages that are named. */
const mostNamed = 5

export function DeleteSection({ settings }: { readonly settings: Settings }) {
  const { at, may, visit } = settings
  const { children, num_children, connections } = at.node
  const links = connections.filter(({ source }) => source !== at.node.id).length
  const named = children.slice(0, mostNamed).map(({ title }) => `“${title}”`)
  return (
    <Section settings={settings} name="delete">
      <p>
        The page moves to the trash with its text, files, history and proposals. Its links disappear.{' '}
        {mayDelete(at.org.role) ? 'You' : 'Maintainers'} can restore it from there, until it is removed for good.
      </p>
      {num_children > 0 && (
        <p>
          {num_children === 1 ? 'Its subpage stays' : `Its ${plural(num_children, 'subpage')} stay`}: {named.join(', ')}
          {num_children > named.length && ` and ${num_children - named.length} more`}. Those without another parent move
          to the top of {at.org.name}.
        </p>
      )}
      {links > 0 && (
        <p>
          {links === 1 ? 'A link from another page leads' : `${plural(links, 'link')} from other pages lead`} nowhere
          until it is restored.
        </p>
      )}
      <SettingsForm settings={settings} name="delete" class="plain">
        <div class="into">
          {may.delete && (
            <button class="btn stop" type="submit" name="act" value="delete">
              Delete this page
            </button>
          )}
          {at.node.head !== undefined && (
            <button class={may.delete ? 'btn' : 'btn stop'} type="submit" name="act" value="propose-deletion">
              Propose to delete this page
            </button>
          )}
          {at.node.head !== undefined && <IntoField org={at.org} sent={visit.form} />}
        </div>
      </SettingsForm>
    </Section>
  )
}

/** Moves the page to the trash. */
export async function deletePage({ visit: { api, urls }, at: { org, node, path } }: Settings): Promise<string> {
  await api.deleteNode({ path })
  return `${urls.trash(org.id)}?deleted=${node.id}`
}

/** Proposes the deletion of what the visitor saw. */
export async function proposeDeletion({ visit: { api, urls, form }, at: { org, node } }: Settings): Promise<string> {
  const title = `Delete ${node.title}`
  const into = intoIn((name) => form.get(name), title) ?? newSet(title)
  const deletions = [{ node_id: node.id, expected_head: form.get('head') ?? '' }]
  return urls.inSet(org.id, await proposePages(api, org.id, into, { deletions }), node.id)
}
