//! The games that ale-py ships, with the actions that mean something in each, and what random play and a human reach.
//!
//! The actions are those of ale-py 0.12.1 (`getMinimalActionSet`); tests hold some of them against the real one. Four
//! of its games are left out because they need a second player. The scores are those of Mnih et al. (2015, Extended
//! Data Table 2).

/// What the bits of a set of actions mean, from the lowest on.
pub(super) const ACTIONS: [&str; 18] = [
    "nothing",
    "fire",
    "up",
    "right",
    "left",
    "down",
    "up and right",
    "up and left",
    "down and right",
    "down and left",
    "up and fire",
    "right and fire",
    "left and fire",
    "down and fire",
    "up, right and fire",
    "up, left and fire",
    "down, right and fire",
    "down, left and fire",
];

/// The actions of a console with a button.
const EVERY: u32 = 0x3ffff;
/// Those of the games that never look at the button.
const WITHOUT_FIRE: u32 = 0x003fd;

/// One game.
#[derive(Clone, Copy, Debug)]
pub(super) struct Game {
    /// The name of its ROM.
    pub rom: &'static str,
    minimal: u32,
    /// The mean scores of random play and of a human.
    pub scores: Option<(f64, f64)>,
}

impl Game {
    const fn new(rom: &'static str, minimal: u32) -> Self {
        Game {
            rom,
            minimal,
            scores: None,
        }
    }

    const fn scored(self, random: f64, human: f64) -> Self {
        Game {
            scores: Some((random, human)),
            ..self
        }
    }

    /// Its name in Gymnasium's ids: `ms_pacman` is `MsPacman`, `tic_tac_toe_3d` is `TicTacToe3D`.
    pub fn name(&self) -> String {
        let mut name = String::new();
        let mut begins = true;
        for letter in self.rom.chars() {
            if letter != '_' {
                name.push(if begins { letter.to_ascii_uppercase() } else { letter });
            }
            begins = !letter.is_ascii_alphabetic();
        }
        name
    }

    /// The indices into [`ACTIONS`] of the actions it takes: those that mean something, or all of the console's.
    pub fn actions(&self, all: bool) -> impl Iterator<Item = usize> + use<> {
        let set = match (all, self.rom) {
            (false, _) => self.minimal,
            (true, "lost_luggage" | "skiing") => WITHOUT_FIRE,
            (true, _) => EVERY,
        };
        (0..ACTIONS.len()).filter(move |action| set >> action & 1 == 1)
    }
}

/// All games, by the names of their ROMs.
#[rustfmt::skip]
pub(super) const GAMES: &[Game] = &[
    Game::new("adventure", 0x3ffff),
    Game::new("air_raid", 0x0181b),
    Game::new("alien", 0x3ffff).scored(227.8, 6875.0),
    Game::new("amidar", 0x03c3f).scored(5.8, 1676.0),
    Game::new("assault", 0x0181f).scored(222.4, 1496.0),
    Game::new("asterix", 0x003fd).scored(210.0, 8503.0),
    Game::new("asteroids", 0x0fcff).scored(719.1, 13_157.0),
    Game::new("atlantis", 0x01803).scored(12_850.0, 29_028.0),
    Game::new("atlantis2", 0x01803),
    Game::new("backgammon", 0x0001a),
    Game::new("bank_heist", 0x3ffff).scored(14.2, 734.4),
    Game::new("basic_math", 0x0003f),
    Game::new("battle_zone", 0x3ffff).scored(2360.0, 37_800.0),
    Game::new("beam_rider", 0x018df).scored(363.9, 5775.0),
    Game::new("berzerk", 0x3ffff),
    Game::new("blackjack", 0x00027),
    Game::new("bowling", 0x02427).scored(23.1, 154.8),
    Game::new("boxing", 0x3ffff).scored(0.1, 4.3),
    Game::new("breakout", 0x0001b).scored(1.7, 31.8),
    Game::new("carnival", 0x0181b),
    Game::new("casino", 0x00027),
    Game::new("centipede", 0x3ffff).scored(2091.0, 11_963.0),
    Game::new("chopper_command", 0x3ffff).scored(811.0, 9882.0),
    Game::new("crazy_climber", 0x003fd).scored(10_781.0, 35_411.0),
    Game::new("crossbow", 0x3ffff),
    Game::new("darkchambers", 0x3ffff),
    Game::new("defender", 0x3ffff),
    Game::new("demon_attack", 0x0181b).scored(152.1, 3401.0),
    Game::new("donkey_kong", 0x3ffff),
    Game::new("double_dunk", 0x3ffff).scored(-18.6, -15.5),
    Game::new("earthworld", 0x3ffff),
    Game::new("elevator_action", 0x3ffff),
    Game::new("enduro", 0x01b3b).scored(0.0, 309.6),
    Game::new("entombed", 0x3ffff),
    Game::new("et", 0x3ffff),
    Game::new("fishing_derby", 0x3ffff).scored(-91.7, 5.5),
    Game::new("flag_capture", 0x3ffff),
    Game::new("freeway", 0x00025).scored(0.0, 29.6),
    Game::new("frogger", 0x0003d),
    Game::new("frostbite", 0x3ffff).scored(65.2, 4335.0),
    Game::new("galaxian", 0x0181b),
    Game::new("gopher", 0x01c1f).scored(257.6, 2321.0),
    Game::new("gravitar", 0x3ffff).scored(173.0, 2672.0),
    Game::new("hangman", 0x3ffff),
    Game::new("haunted_house", 0x3ffff),
    Game::new("hero", 0x3ffff).scored(1027.0, 25_763.0),
    Game::new("human_cannonball", 0x3ffff),
    Game::new("ice_hockey", 0x3ffff).scored(-11.2, 0.9),
    Game::new("jamesbond", 0x3ffff).scored(29.0, 406.7),
    Game::new("journey_escape", 0x3fbfd),
    Game::new("kaboom", 0x0001b),
    Game::new("kangaroo", 0x3ffff).scored(52.0, 3035.0),
    Game::new("keystone_kapers", 0x03fff),
    Game::new("king_kong", 0x0003f),
    Game::new("klax", 0x3ffff),
    Game::new("koolaid", 0x003fd),
    Game::new("krull", 0x3ffff).scored(1598.0, 2395.0),
    Game::new("kung_fu_master", 0x3fb3d).scored(258.5, 22_736.0),
    Game::new("laser_gates", 0x3ffff),
    Game::new("lost_luggage", 0x003fd),
    Game::new("mario_bros", 0x3ffff),
    Game::new("miniature_golf", 0x3ffff),
    Game::new("montezuma_revenge", 0x3ffff).scored(0.0, 4367.0),
    Game::new("mr_do", 0x03c3f),
    Game::new("ms_pacman", 0x003fd).scored(307.3, 15_693.0),
    Game::new("name_this_game", 0x0181b).scored(2292.0, 4076.0),
    Game::new("othello", 0x003ff),
    Game::new("pacman", 0x0003d),
    Game::new("phoenix", 0x0383b),
    Game::new("pitfall", 0x3ffff),
    Game::new("pitfall2", 0x3ffff),
    Game::new("pong", 0x0181b).scored(-20.7, 9.3),
    Game::new("pooyan", 0x02427),
    Game::new("private_eye", 0x3ffff).scored(24.9, 69_571.0),
    Game::new("qbert", 0x0003f).scored(163.9, 13_455.0),
    Game::new("riverraid", 0x3ffff).scored(1339.0, 13_513.0),
    Game::new("road_runner", 0x3ffff).scored(11.5, 7845.0),
    Game::new("robotank", 0x3ffff).scored(2.2, 11.9),
    Game::new("seaquest", 0x3ffff).scored(68.4, 20_182.0),
    Game::new("sir_lancelot", 0x0181b),
    Game::new("skiing", 0x00019),
    Game::new("solaris", 0x3ffff),
    Game::new("space_invaders", 0x0181b).scored(148.0, 1652.0),
    Game::new("space_war", 0x3ffff),
    Game::new("star_gunner", 0x3ffff).scored(664.0, 10_250.0),
    Game::new("superman", 0x3ffff),
    Game::new("surround", 0x0003d),
    Game::new("tennis", 0x3ffff).scored(-23.8, -8.9),
    Game::new("tetris", 0x0003b),
    Game::new("tic_tac_toe_3d", 0x003ff),
    Game::new("time_pilot", 0x03c3f).scored(3568.0, 5925.0),
    Game::new("trondead", 0x3ffff),
    Game::new("turmoil", 0x01bff),
    Game::new("tutankham", 0x01c3d).scored(11.4, 167.6),
    Game::new("up_n_down", 0x02427).scored(533.4, 9082.0),
    Game::new("venture", 0x3ffff).scored(0.0, 1188.0),
    Game::new("video_checkers", 0x003c2),
    Game::new("video_chess", 0x003ff),
    Game::new("video_cube", 0x3ffff),
    Game::new("video_pinball", 0x01c3f).scored(16_257.0, 17_298.0),
    Game::new("wizard_of_wor", 0x03c3f).scored(563.5, 4757.0),
    Game::new("word_zapper", 0x3ffff),
    Game::new("yars_revenge", 0x3ffff),
    Game::new("zaxxon", 0x3ffff).scored(32.5, 9173.0),
];
