//! Sets of the forms of a unit, so that a round of the optimizer looks only where something changed.
//!
//! Passes between two rounds keep the number and the order of the forms. A form is looked at again
//! if it changed, or if it mentions a global of the unit whose definition changed.

/// A set of forms of one unit, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forms(Vec<bool>);

impl Forms {
    /// All of so many forms.
    pub fn all(count: usize) -> Forms {
        Forms(vec![true; count])
    }

    /// None of so many forms.
    pub fn none(count: usize) -> Forms {
        Forms(vec![false; count])
    }

    /// Whether the form is in the set.
    pub fn has(&self, index: usize) -> bool {
        self.0[index]
    }

    /// Adds a form.
    pub fn add(&mut self, index: usize) {
        self.0[index] = true;
    }

    /// Whether there is no form in it.
    pub fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }

    /// The forms of a list that are in the set.
    pub fn of<'a, T>(&'a self, forms: &'a [T]) -> impl Iterator<Item = &'a T> {
        forms
            .iter()
            .zip(&self.0)
            .filter_map(|(form, &is_in)| is_in.then_some(form))
    }

    /// The same, to change, with their indices.
    pub fn of_mut<'a, T>(&'a self, forms: &'a mut [T]) -> impl Iterator<Item = (usize, &'a mut T)> {
        forms
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| self.0[*index])
    }

    /// The set with all forms that mention the definition of one of its forms. `mentioned` has for
    /// each form the forms whose definitions it mentions.
    pub fn with_users(&self, mentioned: &[Vec<u32>]) -> Forms {
        let mut forms = self.clone();
        for (index, mentioned) in mentioned.iter().enumerate() {
            forms.0[index] |= mentioned.iter().any(|&form| self.0[form as usize]);
        }
        forms
    }
}

#[cfg(test)]
mod tests {
    use super::Forms;

    #[test]
    fn users_of_a_changed_definition_are_looked_at() {
        let mut changed = Forms::none(4);
        assert!(changed.is_empty());
        changed.add(1);
        let near = changed.with_users(&[vec![], vec![0], vec![1], vec![2]]);
        assert_eq!(
            near.of(&["a", "b", "c", "d"]).collect::<Vec<_>>(),
            [&"b", &"c"]
        );
        let mut numbers = [1, 2, 3, 4];
        near.of_mut(&mut numbers)
            .for_each(|(index, number)| *number = 10 * index);
        assert_eq!(numbers, [1, 10, 20, 4]);
    }
}
