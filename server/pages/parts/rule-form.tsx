/** The form of a rule. It works without script: the search for a page shows the form again. */

import type { Urls } from '../urls.ts'
import { Field, type Trouble } from './forms.tsx'
import { roles } from './roles.tsx'
import type { RuleFields } from './rule-fields.ts'

interface FoundPage {
  readonly node_id: string
  readonly title: string
}

/** A rule that is being written. */
export interface Draft {
  /** The key of the rule to change, or `new`. */
  readonly key: string
  readonly fields: RuleFields
  /** The pages that have the title. Undefined: none was searched. */
  readonly found: readonly FoundPage[] | undefined
}

interface Props {
  readonly draft: Draft
  readonly org: string
  readonly urls: Urls
  /** Titles of pages by id. */
  readonly titles: ReadonlyMap<string, string>
  readonly trouble: Trouble | undefined
}

/** Fields that show their own errors. */
export const ruleFields = ['branches', 'under', 'approvals', 'role', 'people', 'keep', 'checks', 'merge', 'override']

export function RuleForm({ draft, org, urls, titles, trouble }: Props) {
  const { key, fields } = draft
  const action = urls.settings(org, 'rules')
  return (
    <section id="rule" class="rule-form" aria-labelledby="rule-title">
      <h2 id="rule-title">{key === 'new' ? 'Add a rule' : 'Change the rule'}</h2>
      <form method="post" action={`${action}#rule`} class="fields">
        <input type="hidden" name="rule" value={key} />
        {/* The Enter key presses the first button. */}
        <button class="vh" type="submit" name="act" value="save" tabIndex={-1} aria-hidden="true">
          Save rule
        </button>
        <Field
          label="Branches"
          hint="one pattern a line. * stands for any characters except /, and ** for any characters"
          name="branches"
          trouble={trouble}
        >
          {(tied) => (
            <textarea {...tied} rows={2} required spellcheck={false}>
              {`\n${fields.branches}`}
            </textarea>
          )}
        </Field>
        <Pages draft={draft} titles={titles} trouble={trouble} />
        <Approvals fields={fields} trouble={trouble} />
        <Demands fields={fields} trouble={trouble} />
        <p class="rule-acts">
          <button class="btn go" type="submit" name="act" value="save">
            Save rule
          </button>
          <a class="btn quiet" href={action}>
            Cancel
          </a>
        </p>
      </form>
    </section>
  )
}

type PartProps = Pick<Props, 'trouble'> & { readonly fields: RuleFields }

function Pages({ draft: { fields, found }, titles, trouble }: Pick<Props, 'draft' | 'titles' | 'trouble'>) {
  const { under, words } = fields
  const isWrong = trouble?.field === 'under'
  const known = found?.some(({ node_id }) => node_id === under)
  const choices = [
    { node_id: '', title: 'All pages' },
    ...(under && !known ? [{ node_id: under, title: titles.get(under) ?? 'A deleted page' }] : []),
    ...(found ?? []),
  ]
  const chosen = found?.length === 1 && under === null ? found[0]?.node_id : under
  return (
    <fieldset class="rule-pages">
      <legend>Pages</legend>
      {choices.map(({ node_id, title }) => (
        <label class="check">
          <input type="radio" name="under" value={node_id} checked={node_id === chosen} />
          <span>{node_id === '' ? title : `${title}, and the pages below it`}</span>
        </label>
      ))}
      {found?.length === 0 && <p class="why">No page has a title like “{words}”.</p>}
      <label for="under_words">Only part of the tree</label>
      <span class="line">
        <input
          id="under_words"
          type="search"
          name="under_words"
          value={words}
          maxLength={500}
          placeholder="Title of a page"
          autocomplete="off"
          {...(isWrong ? { 'aria-invalid': true, 'aria-describedby': 'under-wrong' } : {})}
        />
        <input type="hidden" name="under_found" value={found === undefined ? '' : words} />
        <button class="btn" type="submit" name="act" value="find" formNoValidate>
          Search
        </button>
      </span>
      {isWrong && (
        <p class="wrong" id="under-wrong" role="alert">
          {trouble.says}
        </p>
      )}
    </fieldset>
  )
}

function Approvals({ fields, trouble }: PartProps) {
  return (
    <>
      <Field label="Approvals" hint="0 to 20" name="approvals" trouble={trouble}>
        {(tied) => <input {...tied} type="number" min={0} max={20} required value={fields.approvals} />}
      </Field>
      <Field label="Approvals count by" name="role" trouble={trouble}>
        {(tied) => (
          <select {...tied}>
            {roles.map(({ role }) => (
              <option value={role} selected={role === fields.role}>
                {role === 'owner' ? 'owners' : role === 'reader' ? 'all members' : `${role}s, and roles above`}
              </option>
            ))}
            <option value="" selected={fields.role === ''}>
              only the members below
            </option>
          </select>
        )}
      </Field>
      <Field label="Members who count with any role" hint="one e-mail address a line" name="people" trouble={trouble}>
        {(tied) => (
          <textarea {...tied} rows={2} spellcheck={false}>
            {`\n${fields.people}`}
          </textarea>
        )}
      </Field>
      <Field label="An approval holds" name="keep" trouble={trouble}>
        {(tied) => (
          <Options
            tied={tied}
            chosen={fields.keep}
            options={[
              ['same_change', 'while the change is the same, also after a rebase or commits that cancel out'],
              ['same_commit', 'only for the commit that was approved'],
            ]}
          />
        )}
      </Field>
    </>
  )
}

function Demands({ fields, trouble }: PartProps) {
  return (
    <>
      <Field
        label="Checks"
        hint="one name a line. After a colon, the e-mail address of the member or bot that reports it. Without one, the first report counts, by any editor but the authors"
        name="checks"
        trouble={trouble}
      >
        {(tied) => (
          <textarea {...tied} rows={2} spellcheck={false} placeholder="links: ci@example.org">
            {`\n${fields.checks}`}
          </textarea>
        )}
      </Field>
      <label class="check">
        <input type="checkbox" name="resolved" checked={fields.resolved} />
        <span>All threads must be resolved</span>
      </label>
      <Field label="Merged by" name="merge" trouble={trouble}>
        {(tied) => (
          <Options
            tied={tied}
            chosen={fields.merge}
            options={[
              ['editor', 'editors, maintainers and owners'],
              ['maintainer', 'maintainers and owners'],
              ['owner', 'owners'],
            ]}
          />
        )}
      </Field>
      <Field label="If a proposal does not satisfy the rule" name="override" trouble={trouble}>
        {(tied) => (
          <Options
            tied={tied}
            chosen={fields.override}
            options={[
              ['owner', 'an owner may merge it, with a reason'],
              ['nobody', 'nobody may merge it'],
            ]}
          />
        )}
      </Field>
    </>
  )
}

interface OptionsProps {
  readonly tied: { readonly id: string; readonly name: string }
  readonly chosen: string
  readonly options: readonly (readonly [value: string, words: string])[]
}

function Options({ tied, chosen, options }: OptionsProps) {
  return (
    <select {...tied}>
      {options.map(([value, words]) => (
        <option value={value} selected={value === chosen}>
          {words}
        </option>
      ))}
    </select>
  )
}
