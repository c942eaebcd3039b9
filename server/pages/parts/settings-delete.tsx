/** Deleting a node: what happens to its children and links, and the button. */

import { plural } from './dates.tsx'
import { Section, type Settings, SettingsForm } from './settings-section.tsx'

/** Subpages that are named. */
const mostNamed = 5

export function DeleteSection({ settings }: { readonly settings: Settings }) {
  const { at } = settings
  const { children, num_children, connections } = at.node
  const links = connections.filter(({ source }) => source !== at.node.id).length
  const named = children.slice(0, mostNamed).map(({ title }) => `“${title}”`)
  return (
    <Section settings={settings} name="delete">
      <p>
        The page moves to the trash with its text, files, history and proposals. Its links disappear. You can restore it
        from there, until it is removed for good.
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
        <button class="btn stop" type="submit" name="act" value="delete">
          Delete this page
        </button>
      </SettingsForm>
    </Section>
  )
}
